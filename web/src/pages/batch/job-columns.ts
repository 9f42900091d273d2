import {
  type AccessorFnColumnDef,
  createColumnHelper,
  createSortedRowModel,
  rowSortingFeature,
  sortFns,
  tableFeatures,
} from '@tanstack/react-table'
import type { Job } from '../../lib/api/types.ts'
import { duration, fixedLike, number } from '../../lib/words.ts'

export const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns,
})
const helper = createColumnHelper<typeof features, Job>()

/** Numbers by size, words by letters, nothing last. */
function order(a: unknown, b: unknown): number {
  const [x, y] = [Number(a), Number(b)]
  const [noX, noY] = [a === null || a === undefined || a === '', b === null || b === undefined || b === '']
  if (noX || noY) return Number(noX) - Number(noY)
  if (!Number.isNaN(x) && !Number.isNaN(y)) return x - y
  return String(a).localeCompare(String(b), undefined, { numeric: true })
}

export interface JobColumn {
  id: string
  title: string
  say: (job: Job) => string
  /** What it is ordered by. */
  definition: AccessorFnColumnDef<typeof features, Job, unknown>
}

/** What differs among the jobs, then what came of them. */
export function columnsOf(jobs: readonly Job[]): JobColumn[] {
  const params = [...namesOf(jobs, (job) => job.params)]
    .filter((name) => jobs.length < 2 || varies(jobs, name))
    .sort()
    .slice(0, 40)
  const metrics = [...namesOf(jobs, (job) => job.metrics)].sort().slice(0, 40)
  const column = (
    id: string,
    title: string,
    value: (job: Job) => unknown,
    said: (value: unknown) => string = number,
  ): JobColumn => ({
    id,
    title,
    say: (job) => said(value(job)),
    definition: helper.accessor((job): unknown => value(job), {
      id,
      sortFn: (a, b) => order(value(a.original), value(b.original)),
    }),
  })
  const measured = (id: string, title: string, value: (job: Job) => unknown): JobColumn =>
    column(id, title, value, fixedLike(jobs.map(value)))
  const word = (value: unknown): string => (value === null || value === undefined ? '' : String(value))
  return [
    column('id', 'Job', (job) => job.id, word),
    column('status', 'Status', (job) => job.status, word),
    column('epochs', 'Epochs', (job) => job.epochs),
    measured('train_loss', 'train_loss', (job) => job.latest.train_loss),
    measured('val_loss', 'val_loss', (job) => job.latest.val_loss),
    ...params.map((name) =>
      column(
        `p.${name}`,
        name,
        (job) => job.params[name],
        (value) =>
          typeof value === 'number'
            ? number(value)
            : word(typeof value === 'object' && value !== null ? JSON.stringify(value) : value),
      ),
    ),
    ...metrics.map((name) => measured(`m.${name}`, `final ${name}`, (job) => job.metrics[name])),
    column('model', 'Model', (job) => job.model, word),
    column('dataset', 'Dataset', (job) => job.dataset, word),
    column(
      'elapsed',
      'Elapsed',
      (job) => job.elapsed_s,
      (value) => duration(value as number),
    ),
    column(
      'eta',
      'Left',
      (job) => job.eta_s,
      (value) => (value === null ? '' : duration(value as number)),
    ),
    column('reason', 'Reason', (job) => job.failure_reason, word),
  ]
}

/** Columns that are read down, digit below digit. */
export function numericOf(jobs: readonly Job[]): ReadonlySet<string> {
  const found = new Set(['epochs', 'train_loss', 'val_loss', 'elapsed', 'eta'])
  for (const name of namesOf(jobs, (job) => job.metrics)) found.add(`m.${name}`)
  const words = new Set<string>()
  for (const { params } of jobs)
    for (const name in params) if (typeof params[name] !== 'number' && params[name] !== null) words.add(name)
  for (const name of namesOf(jobs, (job) => job.params)) if (!words.has(name)) found.add(`p.${name}`)
  return found
}

function namesOf(jobs: readonly Job[], pick: (job: Job) => object): Set<string> {
  const names = new Set<string>()
  for (const job of jobs) for (const name in pick(job)) names.add(name)
  return names
}

function varies(jobs: readonly Job[], name: string): boolean {
  const first = jobs[0]?.params[name]
  const text = JSON.stringify(first)
  return jobs.some(({ params }) => params[name] !== first && JSON.stringify(params[name]) !== text)
}
