import type { Compared } from '../charts/compared-jobs.ts'
import { divisible, extremes, type Range, shareIn } from '../lib/charts/axis-range.ts'
import type { Axis } from './axes.ts'
import { axisLabels } from './axis-labels.ts'
import { jobGroups, type Spread, spreadOf } from './job-groups.ts'

/** What custom charts draw, computed from the columns of jobs. Pure. */

/** Jobs with a finite value of every axis, and how many were left out. */
export function complete(
  rows: readonly Compared[],
  axes: readonly Axis[],
): { rows: Compared[]; missing: number } {
  const isDrawn = (row: Compared): boolean =>
    axes.every((axis) => {
      const value = axis.at(row)
      return value !== undefined && Number.isFinite(value) && !(axis.log && value <= 0)
    })
  const kept = rows.filter(isDrawn)
  return { rows: kept, missing: rows.length - kept.length }
}

export interface Group extends Spread {
  label: string
}

/** Groups by the values of a column, in the order of the column: texts by name, numbers and bins ascending. */
export function groupsAlong(rows: readonly Compared[], by: Axis, metric: Axis): Group[] {
  const place = (group: { rows: readonly Compared[] }): number =>
    Math.min(...group.rows.map((row) => by.at(row) ?? Number.POSITIVE_INFINITY))
  return jobGroups(rows, [by], metric)
    .sort((a, b) => place(a) - place(b))
    .flatMap(({ values, spread }) => (spread === undefined ? [] : [{ label: values[0] ?? '', ...spread }]))
}

export interface Fit {
  slope: number
  intercept: number
  /** The share of the variance that the line explains. */
  r2: number
  n: number
}

/** The least-squares line through points; undefined for fewer than three, or if all have the same x. */
export function fitLine(points: readonly (readonly [x: number, y: number])[]): Fit | undefined {
  const n = points.length
  if (n < 3) return undefined
  const mean = (at: 0 | 1): number => points.reduce((sum, point) => sum + point[at] / n, 0)
  const [mx, my] = [mean(0), mean(1)]
  let [xx, xy, yy] = [0, 0, 0]
  for (const [x, y] of points) {
    xx += (x - mx) ** 2
    xy += (x - mx) * (y - my)
    yy += (y - my) ** 2
  }
  // Rounding errors of equal values are no spread.
  if (!(xx > 1e-24 * n * mx ** 2)) return undefined
  const slope = xy / xx
  return { slope, intercept: my - slope * mx, r2: yy === 0 ? 1 : (xy * xy) / (xx * yy), n }
}

export interface Bin {
  from: number
  to: number
  n: number
}
const MAX_BINS = 40

/**
 * A histogram whose bins have the width of Freedman and Diaconis, at most 40; of equal ratios on a log scale. A value at
 * an edge counts in the bin above it.
 */
export function histogramOf(values: readonly number[], log: boolean): Bin[] {
  const scaled = values.map((value) => (log ? Math.log(value) : value)).sort((a, b) => a - b)
  const ends = extremes(scaled)
  if (ends === undefined) return []
  const [low, high] = ends
  const back = (at: number): number => (log ? Math.exp(at) : at)
  if (low === high) return [{ from: back(low), to: back(high), n: scaled.length }]
  const { lowerQuartile = 0, upperQuartile = 0 } = spreadOf(scaled) ?? {}
  const width = (2 * (upperQuartile - lowerQuartile)) / Math.cbrt(scaled.length)
  const wanted = width > 0 ? Math.ceil((high - low) / width) : Math.ceil(Math.sqrt(scaled.length))
  const bins = Math.max(1, Math.min(MAX_BINS, wanted))
  const counts = new Array<number>(bins).fill(0)
  for (const value of scaled) {
    const at = Math.min(bins - 1, Math.floor(((value - low) / (high - low)) * bins))
    counts[at] = (counts[at] ?? 0) + 1
  }
  return counts.map((n, i) => ({
    from: back(low + ((high - low) * i) / bins),
    to: back(low + ((high - low) * (i + 1)) / bins),
    n,
  }))
}

export interface HeatMap {
  columns: readonly string[]
  rows: readonly string[]
  cells: readonly { column: number; row: number; mean: number; n: number }[]
  low: number
  high: number
}

/** The mean of a metric for each pair of values, or bins, of two columns. */
export function heatMapOf(rows: readonly Compared[], x: Axis, y: Axis, metric: Axis): HeatMap {
  const groups = jobGroups(rows, [x, y], metric)
  const labels = (at: 0 | 1, axis: Axis): string[] => {
    const places = new Map<string, number>()
    for (const group of groups) {
      const label = group.values[at] ?? ''
      const least = Math.min(...group.rows.map((row) => axis.at(row) ?? Number.POSITIVE_INFINITY))
      places.set(label, Math.min(places.get(label) ?? Number.POSITIVE_INFINITY, least))
    }
    return [...places].sort((a, b) => a[1] - b[1]).map(([label]) => label)
  }
  const [columns, lines] = [labels(0, x), labels(1, y)]
  const cells = groups.flatMap(({ values, spread }) =>
    spread === undefined
      ? []
      : [
          {
            column: columns.indexOf(values[0] ?? ''),
            row: lines.indexOf(values[1] ?? ''),
            mean: spread.mean,
            n: spread.n,
          },
        ],
  )
  const [low = 0, high = 0] = extremes(cells.map(({ mean }) => mean)) ?? []
  return { columns, rows: lines, cells, low, high }
}

/** The share of an axis that stays free at each end. */
const ROOM = 0.05
interface Placed {
  at: (value: number) => number
  labels: readonly { at: number; text: string }[]
}

/** A numeric axis over these values between two pixels. */
export function placed(axis: Axis, [low, high]: Range, [from, to]: Range, most: number): Placed {
  const range = divisible([low, high], axis.log)
  const at = (value: number): number =>
    from + (low === high ? 0.5 : ROOM + (1 - 2 * ROOM) * shareIn(range, value, axis.log)) * (to - from)
  const { labels } = axisLabels({ ...axis, low, high }, most, range)
  // A column of texts labels all of them, also those of jobs that are not drawn.
  return {
    at,
    labels: axis.words === null ? labels : labels.filter((one) => one.at >= low && one.at <= high),
  }
}
