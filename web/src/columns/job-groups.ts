import type { Compared } from '../charts/compared-jobs.ts'
import { lessIsBetter } from '../lib/batch-query.ts'
import { number } from '../lib/words.ts'
import { type Axis, shareOf, valueAt } from './axes.ts'

/** A parameter with more distinct numbers is grouped into bins. */
const MAX_VALUES = 8
const BINS = 5

/** Jobs with the same values, or bins, of some parameters, and their results. */
export interface JobGroup {
  /** One text for each parameter. */
  values: readonly string[]
  rows: readonly Compared[]
  /** Over jobs with a finite value of the metric; undefined if none has one. */
  spread: Spread | undefined
}

export interface Spread {
  n: number
  mean: number
  /** The standard error of the mean; undefined for a single value. */
  error: number | undefined
  low: number
  lowerQuartile: number
  median: number
  upperQuartile: number
  high: number
}

/** The groups of jobs by these parameters, best mean first, groups without a value last. */
export function jobGroups(rows: readonly Compared[], by: readonly Axis[], metric: Axis): JobGroup[] {
  const labels = by.map((axis) => labelling(rows, axis))
  const found = new Map<string, { values: string[]; rows: Compared[] }>()
  for (const row of rows) {
    const values = labels.map((label) => label(row))
    const key = values.join('\n')
    const group = found.get(key) ?? { values, rows: [] }
    group.rows.push(row)
    found.set(key, group)
  }
  const sign = lessIsBetter(metric.id.slice(metric.id.indexOf('.') + 1)) ? 1 : -1
  const place = ({ spread }: JobGroup): number =>
    spread === undefined ? Number.POSITIVE_INFINITY : sign * spread.mean
  return [...found.values()]
    .map((group) => ({ ...group, spread: spreadOf(group.rows.map((row) => metric.at(row))) }))
    .sort((a, b) => (place(a) === place(b) ? b.rows.length - a.rows.length : place(a) - place(b)))
}

/** The parameters in which these jobs differ, those with the fewest values first; to have none is a value, too. */
export function groupingAxes(rows: readonly Compared[], axes: readonly Axis[]): Axis[] {
  return axes
    .filter((axis) => axis.id.startsWith('param.'))
    .map((axis) => ({ axis, values: new Set(rows.map((row) => axis.at(row))).size }))
    .filter(({ values }) => values > 1)
    .sort((a, b) => a.values - b.values)
    .map(({ axis }) => axis)
}

/** The label of a job's value, or of its bin. */
function labelling(rows: readonly Compared[], axis: Axis): (row: Compared) => string {
  const { words } = axis
  const different = new Set(rows.flatMap((row) => axis.at(row) ?? []))
  const texts = [...different].map(number)
  /** In four digits, or in all where that is what another value is called. */
  const numberText = (value: number): string => {
    const text = number(value)
    return texts.indexOf(text) === texts.lastIndexOf(text) ? text : String(value)
  }
  const valueText = (value: number): string => (words === null ? numberText(value) : (words[value] ?? ''))
  const isBinned = words === null && different.size > MAX_VALUES
  const edges = isBinned ? edgesOf(axis) : []
  return (row) => {
    const value = axis.at(row)
    if (value === undefined) return 'not set'
    const share = isBinned ? shareOf(axis, value) : Number.NaN
    if (Number.isNaN(share)) return valueText(value)
    const bin = Math.min(BINS - 1, Math.floor(share * BINS))
    return `${edges[bin]} to ${edges[bin + 1]}`
  }
}

/** The ends of the bins, in as many digits as make them differ. */
function edgesOf(axis: Axis): string[] {
  const values = Array.from({ length: BINS + 1 }, (_, bin) => valueAt(axis, bin / BINS))
  for (let digits = 2; digits < 17; digits++) {
    const rounded = values.map((value) => Number(value.toPrecision(digits)))
    const texts = rounded.map((value) => (digits <= 4 ? number(value) : String(value)))
    if (new Set(texts).size === texts.length) return texts
  }
  return values.map(String)
}

export function spreadOf(values: readonly (number | undefined)[]): Spread | undefined {
  const sorted = values
    .filter((one): one is number => one !== undefined && Number.isFinite(one))
    .sort((a, b) => a - b)
  const n = sorted.length
  const [low, high] = [sorted[0], sorted[n - 1]]
  if (low === undefined || high === undefined) return undefined
  const mean = sorted.reduce((sum, one) => sum + one / n, 0)
  const variance = sorted.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (n - 1)
  return {
    n,
    mean,
    error: n > 1 ? Math.sqrt(variance / n) : undefined,
    low,
    lowerQuartile: quantile(sorted, 0.25),
    median: quantile(sorted, 0.5),
    upperQuartile: quantile(sorted, 0.75),
    high,
  }
}

/** Linear interpolation between the two nearest values, as NumPy does by default. */
function quantile(sorted: readonly number[], share: number): number {
  const at = (sorted.length - 1) * share
  const [lower, upper] = [sorted[Math.floor(at)] ?? Number.NaN, sorted[Math.ceil(at)] ?? Number.NaN]
  return lower + (upper - lower) * (at - Math.floor(at))
}
