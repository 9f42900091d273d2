import {
  type AccessorFnColumnDef,
  createColumnHelper,
  createSortedRowModel,
  rowSortingFeature,
  sortFns,
  tableFeatures,
} from '@tanstack/react-table'
import { seriesNames } from '../../charts/series-names.ts'
import type { Job } from '../../lib/api/batches.ts'
import { flatOf } from '../../lib/flat.ts'
import { isLoss } from '../../lib/main-series.ts'
import { countedAs } from '../../lib/step-unit.ts'
import { duration, fixedLike, number } from '../../lib/words.ts'

export const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns,
})
const helper = createColumnHelper<typeof features, Job>()

/** Compares numbers by value and text alphabetically; empty values come last. */
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
  format: (job: Job) => string
  /** The sort value. */
  definition: AccessorFnColumnDef<typeof features, Job, unknown>
}

const MAX_COLUMNS = 40
/** Column ids in URLs. The common losses had columns before other series did, so they have no prefix. */
const latestId = (name: string): string => (name === 'val_loss' || name === 'train_loss' ? name : `l.${name}`)

/**
 * The columns: losses, varying parameters, then everything else that jobs report. Empty columns are omitted, except for
 * the one that the table is sorted by, because an order is read by its values.
 */
export function columnsOf(jobs: readonly Job[], sort?: string): JobColumn[] {
  const { losses, others } = seriesOf(jobs)
  const params = [...namesOf(jobs, (job) => flatOf(job.params))]
    .filter((name) => jobs.length < 2 || varies(jobs, name))
    .sort()
    .slice(0, MAX_COLUMNS)
  const metrics = [...namesOf(jobs, (job) => flatOf(job.metrics))].sort().slice(0, MAX_COLUMNS)
  const column = (
    id: string,
    title: string,
    value: (job: Job) => unknown,
    formatValue: (value: unknown) => string = number,
  ): JobColumn => ({
    id,
    title,
    format: (job) => formatValue(value(job)),
    definition: helper.accessor((job): unknown => value(job), {
      id,
      sortFn: (a, b) => order(value(a.original), value(b.original)),
    }),
  })
  const measured = (id: string, title: string, value: (job: Job) => unknown): JobColumn =>
    column(id, title, value, fixedLike(jobs.map(value)))
  const latest = (name: string): JobColumn =>
    measured(latestId(name), `last.${name}`, (job) => job.latest[name])
  const word = (value: unknown): string => (value === null || value === undefined ? '' : String(value))
  const ifAny = (made: JobColumn): JobColumn[] =>
    jobs.some((job) => ![null, undefined, ''].includes(made.definition.accessorFn(job, 0) as string | null))
      ? [made]
      : []
  const param = (name: string): JobColumn =>
    column(
      `p.${name}`,
      name,
      (job) => flatOf(job.params)[name],
      (value) =>
        typeof value === 'number'
          ? number(value)
          : word(typeof value === 'object' && value !== null ? JSON.stringify(value) : value),
    )
  const metric = (name: string): JobColumn =>
    measured(`m.${name}`, `final ${name}`, (job) => flatOf(job.metrics)[name])
  const sorted = fieldOf(sort)
  const made = [
    column('id', 'Job', (job) => job.id, word),
    column('status', 'Status', (job) => job.status, word),
    column('epochs', countedAs(jobs) === 'point' ? 'Points' : 'Epochs', (job) => job.epochs),
    ...ifAny(column('tags', 'Tags', (job) => job.tags.join(', '), word)),
    ...losses.map(latest),
    ...params.map(param),
    ...others.map(latest),
    ...metrics.map(metric),
    ...ifAny(column('model', 'Model', (job) => job.model, word)),
    ...ifAny(column('dataset', 'Dataset', (job) => job.dataset, word)),
    column(
      'elapsed',
      'Elapsed',
      (job) => job.elapsed_s,
      (value) => duration(value as number),
    ),
    ...ifAny(
      column(
        'eta',
        'Left',
        (job) => job.eta_s,
        (value) => (value === null ? '' : duration(value as number)),
      ),
    ),
    ...ifAny(column('reason', 'Reason', (job) => job.failure_reason, word)),
  ]
  if (sorted === undefined || made.some(({ id }) => id === sorted.id)) return made
  return made.toSpliced(2, 0, { latest, param, metric }[sorted.of](sorted.name))
}

/** The series, parameter or final metric of a sort parameter. */
function fieldOf(sort = ''): { id: string; of: 'latest' | 'param' | 'metric'; name: string } | undefined {
  const id = sort.replace(/^-/, '')
  if (id === latestId(id)) return { id, of: 'latest', name: id }
  const [, kind, name] = /^([lpm])\.(.+)$/s.exec(id) ?? []
  if (name === undefined) return undefined
  return { id, of: kind === 'l' ? 'latest' : kind === 'p' ? 'param' : 'metric', name }
}

/** Changes when the set of columns changes, but not with values. */
export const shapeOf = (jobs: readonly Job[]): string =>
  jobs
    .map((job) =>
      [
        Object.keys(job.params).length + Object.keys(job.metrics).length + Object.keys(job.latest).length,
        job.eta_s === null ? '' : 'e',
        job.failure_reason === null ? '' : 'f',
        job.tags.length === 0 ? '' : 't',
      ].join(''),
    )
    .join()

/** Columns that are right-aligned with tabular digits. */
export function numericOf(jobs: readonly Job[], sort?: string): ReadonlySet<string> {
  const found = new Set(['epochs', 'elapsed', 'eta'])
  const sorted = fieldOf(sort)
  if (sorted?.of === 'latest') found.add(sorted.id)
  const { losses, others } = seriesOf(jobs)
  for (const name of [...losses, ...others]) found.add(latestId(name))
  for (const name of namesOf(jobs, (job) => flatOf(job.metrics))) found.add(`m.${name}`)
  const words = new Set<string>()
  for (const job of jobs) {
    const params = flatOf(job.params)
    for (const name in params) if (typeof params[name] !== 'number' && params[name] !== null) words.add(name)
  }
  for (const name of namesOf(jobs, (job) => flatOf(job.params))) if (!words.has(name)) found.add(`p.${name}`)
  return found
}

function seriesOf(jobs: readonly Job[]): { losses: string[]; others: string[] } {
  const names = seriesNames(jobs).slice(0, MAX_COLUMNS)
  return { losses: names.filter(isLoss), others: names.filter((name) => !isLoss(name)) }
}

function namesOf(jobs: readonly Job[], pick: (job: Job) => object): Set<string> {
  const names = new Set<string>()
  for (const job of jobs) for (const name in pick(job)) names.add(name)
  return names
}

function varies(jobs: readonly Job[], name: string): boolean {
  const [one] = jobs
  const first = one && flatOf(one.params)[name]
  const text = JSON.stringify(first)
  return jobs.some(({ params }) => {
    const value = flatOf(params)[name]
    return value !== first && JSON.stringify(value) !== text
  })
}
