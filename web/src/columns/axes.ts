import type { Compared } from '../charts/compared-jobs.ts'
import { divisible, extremes, type Range, shareIn, valueIn } from '../lib/charts/axis-range.ts'
import { flatOf } from '../lib/flat.ts'
import { countedAs } from '../lib/step-unit.ts'

/** A column of compared jobs: a parameter or a result. */
export interface Axis {
  id: string
  title: string
  /** The categories of a text axis, in order; null for a numeric axis. */
  words: readonly string[] | null
  /** The values of a numeric parameter that has few of them, ascending. */
  values?: readonly number[]
  /** A job's position: NaN if its value is no number, undefined if it has no value. */
  at: (row: Compared) => number | undefined
  low: number
  high: number
  /** Whether it has a log scale. */
  log: boolean
}

/** Axis scales that the user chose; the other scales follow the data. */
export type Scales = Readonly<Record<string, 'log' | 'linear'>>

function rawValueOf({ job, batch }: Compared, id: string): unknown {
  const name = id.slice(id.indexOf('.') + 1)
  if (id.startsWith('param.'))
    return name === 'model' || name === 'dataset' ? job[name] : flatOf(job.params)[name]
  if (id.startsWith('best.')) return job.best?.[name]
  if (id.startsWith('last.')) return job.latest[name]
  if (id.startsWith('final.')) return flatOf(job.metrics)[name]
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

/** All columns of the jobs, parameters first. */
export function axesOf(rows: readonly Compared[]): Axis[] {
  const params = new Set<string>()
  const best = new Set<string>()
  const last = new Set<string>()
  const final = new Set<string>()
  for (const { job } of rows) {
    if (job.model !== null) params.add('model')
    if (job.dataset !== null) params.add('dataset')
    for (const name of Object.keys(flatOf(job.params))) params.add(name)
    for (const name of Object.keys(job.best ?? {})) best.add(name)
    for (const name of Object.keys(job.latest)) if (name !== 'epoch') last.add(name)
    for (const name of Object.keys(flatOf(job.metrics))) final.add(name)
  }
  const ids: [string, string][] = [
    ...[...params].sort().map((name): [string, string] => [`param.${name}`, name]),
    ...[...best].sort().map((name): [string, string] => [`best.${name}`, `best.${name}`]),
    ...[...last].sort().map((name): [string, string] => [`last.${name}`, `last.${name}`]),
    ...[...final].sort().map((name): [string, string] => [`final.${name}`, `final ${name}`]),
    ['epochs', `${countedAs(rows.map(({ job }) => job))}s`],
    ['elapsed', 'elapsed (s)'],
    ['status', 'status'],
    ['batch', 'batch'],
  ]
  return ids.flatMap(([id, title]) => axisOf(rows, id, title) ?? [])
}

/** An axis of a parameter with so many values or fewer is labelled with them. */
const MAX_VALUES = 8

function axisOf(rows: readonly Compared[], id: string, title: string): Axis | undefined {
  const values = rows
    .map((row) => rawValueOf(row, id))
    .filter((value) => value !== undefined && value !== null)
  if (values.length === 0) return undefined
  if (values.every(isNumber)) {
    const finite = values.map(Number).filter(Number.isFinite)
    const [low, high] = extremes(finite) ?? [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    const at = (row: Compared): number | undefined => {
      const value = rawValueOf(row, id)
      return value === undefined || value === null ? undefined : Number(value)
    }
    const axis = { id, title, words: null, at, low, high, log: suitsLog(finite) }
    const distinct = id.startsWith('param.') ? [...new Set(finite)].sort((a, b) => a - b) : []
    return distinct.length > 0 && distinct.length <= MAX_VALUES ? { ...axis, values: distinct } : axis
  }
  const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
  const words = [...new Set(values.map(text))].sort()
  const place = new Map(words.map((word, i) => [word, i]))
  const at = (row: Compared): number | undefined => {
    const value = rawValueOf(row, id)
    return value === undefined || value === null ? undefined : place.get(text(value))
  }
  return { id, title, words, at, low: 0, high: Math.max(1, words.length - 1), log: false }
}

/** The number of decades that values must span for a log scale by default. */
const LOG_DECADES = 2
/** The share of the log range that the middle half of the distinct values must span. */
const EVEN = 0.2

/**
 * Whether a log scale is the better default: all values are positive, span two decades or more, and are evenly spread
 * in log.
 */
export function suitsLog(values: readonly number[]): boolean {
  if (values.length === 0 || values.some((value) => value <= 0)) return false
  const logs = [...new Set(values)].map(Math.log10).sort((a, b) => a - b)
  const at = (share: number): number => logs[Math.round((logs.length - 1) * share)] ?? 0
  const range = at(1) - at(0)
  // In floating point, 0.1 to 0.001 is slightly less than two decades.
  return range > LOG_DECADES - 1e-9 && at(0.75) - at(0.25) >= EVEN * range
}

/** Whether an axis can have a log scale. */
export const canBeLog = (axis: Axis): boolean => axis.words === null && axis.low > 0 && axis.high > axis.low

/** The axes with the scales that the user chose. */
export const withScales = (axes: readonly Axis[], scales: Scales | undefined): readonly Axis[] =>
  axes.map((axis) => {
    const chosen = scales?.[axis.id]
    return chosen === undefined ? axis : { ...axis, log: chosen === 'log' && canBeLog(axis) }
  })

/** The position of a value on its axis, 0 to 1; NaN if the axis cannot show it. */
export function shareOf(axis: Axis, value: number | undefined): number {
  if (value === undefined || !Number.isFinite(value)) return Number.NaN
  if (axis.high === axis.low) return 0.5
  return shareIn(rangeOf(axis), value, axis.log)
}

/** The range that an axis is drawn over. */
export const rangeOf = ({ low, high, log }: Axis): Range =>
  low === high ? [low, high] : divisible([low, high], log)

/** The value at a position from 0 to 1. The ends are exact, so that a brush up to the end includes the job there. */
export function valueAt(axis: Axis, share: number): number {
  if (share <= 0) return axis.low
  if (share >= 1) return axis.high > axis.low ? axis.high : axis.low + 1
  if (axis.high === axis.low) return axis.low + share
  return valueIn(rangeOf(axis), share, axis.log)
}

/** Whether the jobs differ in it. */
export const differs = (axis: Axis): boolean =>
  axis.words === null ? axis.high > axis.low : axis.words.length > 1

/** The default axes: varying parameters and the best value of the main result. */
export function standardAxes(axes: readonly Axis[], metric: string | undefined): string[] {
  const params = axes.filter((axis) => axis.id.startsWith('param.') && differs(axis)).map((axis) => axis.id)
  return [...params.slice(0, 6), ...(metric === undefined ? [] : [`best.${metric}`])]
}

/** Whether a job is within every brushed range. */
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

/** The most important parameters first; axes without an importance, such as the metric, stay last. */
export function byImportance(shown: readonly string[], important: readonly string[]): string[] {
  const placeOf = (id: string): number => {
    const at = important.indexOf(id)
    return at < 0 ? important.length : at
  }
  return [...shown].sort((a, b) => placeOf(a) - placeOf(b))
}
