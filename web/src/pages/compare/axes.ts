import { flat } from '../../lib/flat.ts'
import type { Compared } from './use-compared.ts'

/** The columns of compared jobs: what they were given, what came of them. */
export interface Axis {
  id: string
  title: string
  /** Texts are placed by their order; null: the axis is of numbers. */
  words: readonly string[] | null
  /** The place of a job on it: NaN where it has no number there, undefined where it has nothing. */
  at: (row: Compared) => number | undefined
  low: number
  high: number
}

function said({ job, batch }: Compared, id: string): unknown {
  const name = id.slice(id.indexOf('.') + 1)
  if (id.startsWith('param.'))
    return name === 'model' || name === 'dataset' ? job[name] : flat(job.params)[name]
  if (id.startsWith('last.')) return job.latest[name]
  if (id.startsWith('final.')) return flat(job.metrics)[name]
  switch (id) {
    case 'batch':
      return batch.id
    case 'status':
      return job.status
    case 'epochs':
      return job.epochs
    case 'elapsed':
      return job.elapsed_s
    default:
      return undefined
  }
}

const isNumber = (value: unknown): boolean =>
  typeof value === 'number' || value === 'NaN' || value === 'Infinity' || value === '-Infinity'

/** Every column that the jobs have, the parameters first. Those that say the same of all are left out with `differing`. */
export function axesOf(rows: readonly Compared[]): Axis[] {
  const params = new Set<string>()
  const last = new Set<string>()
  const final = new Set<string>()
  for (const { job } of rows) {
    if (job.model !== null) params.add('model')
    if (job.dataset !== null) params.add('dataset')
    for (const name of Object.keys(flat(job.params))) params.add(name)
    for (const name of Object.keys(job.latest)) if (name !== 'epoch') last.add(name)
    for (const name of Object.keys(flat(job.metrics))) final.add(name)
  }
  const ids: [string, string][] = [
    ...[...params].sort().map((name): [string, string] => [`param.${name}`, name]),
    ...[...last].sort().map((name): [string, string] => [`last.${name}`, `last ${name}`]),
    ...[...final].sort().map((name): [string, string] => [`final.${name}`, `final ${name}`]),
    ['epochs', 'epochs'],
    ['elapsed', 'elapsed, s'],
    ['status', 'status'],
    ['batch', 'batch'],
  ]
  return ids.flatMap(([id, title]) => axisOf(rows, id, title) ?? [])
}

function axisOf(rows: readonly Compared[], id: string, title: string): Axis | undefined {
  const values = rows.map((row) => said(row, id)).filter((value) => value !== undefined && value !== null)
  if (values.length === 0) return undefined
  if (values.every(isNumber)) {
    const finite = values.map(Number).filter(Number.isFinite)
    const low = finite.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
    const high = finite.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY)
    const at = (row: Compared): number | undefined => {
      const value = said(row, id)
      return value === undefined || value === null ? undefined : Number(value)
    }
    return { id, title, words: null, at, low, high }
  }
  const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
  const words = [...new Set(values.map(text))].sort()
  const place = new Map(words.map((word, i) => [word, i]))
  const at = (row: Compared): number | undefined => {
    const value = said(row, id)
    return value === undefined || value === null ? undefined : place.get(text(value))
  }
  return { id, title, words, at, low: 0, high: Math.max(1, words.length - 1) }
}

/** Whether the jobs differ in it. */
export const differs = (axis: Axis): boolean =>
  axis.words === null ? axis.high > axis.low : axis.words.length > 1

/** Axes to begin with: the parameters that differ, and how it ended. */
export function standardAxes(axes: readonly Axis[], metric: string | undefined): string[] {
  const params = axes.filter((axis) => axis.id.startsWith('param.') && differs(axis)).map((axis) => axis.id)
  return [...params.slice(0, 6), ...(metric === undefined ? [] : [`last.${metric}`])]
}

/** Whether a job lies within every part that is brushed. */
export const within = (
  row: Compared,
  axes: readonly Axis[],
  brush: Readonly<Record<string, [number, number]>>,
): boolean =>
  Object.entries(brush).every(([id, [from, to]]) => {
    const axis = axes.find((one) => one.id === id)
    const at = axis?.at(row)
    return axis === undefined || (at !== undefined && at >= from && at <= to)
  })
