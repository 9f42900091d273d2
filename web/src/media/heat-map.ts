import type { HistogramMedia, MediaItem } from '../lib/api/media.ts'

/** Histograms of one job over steps, ready to draw. */
export interface HeatMap {
  steps: number[]
  columns: HistogramMedia[]
  low: number
  high: number
}

/** Bins outside of this share of all counts at either end are cut off: single outliers would squeeze all others. */
const OUTSIDE = 0.001

/** @param range of the values; by default that of the job */
export function heatMapOf(
  items: readonly MediaItem[],
  job: string,
  range?: readonly [low: number, high: number],
): HeatMap {
  const found = items.flatMap((item) => {
    const value = item.values.find((one) => one._type === 'histogram')
    return item.job_id === job && value?._type === 'histogram' ? [{ step: item.step, value }] : []
  })
  const columns = found.map((one) => one.value)
  const [low, high] = range ?? rangeOf(columns)
  return { steps: found.map((one) => one.step), columns, low, high }
}

/** The range of the values of these jobs. */
export const rangeOfJobs = (items: readonly MediaItem[], jobs: ReadonlySet<string>): [number, number] =>
  rangeOf(
    items.flatMap((item) =>
      jobs.has(item.job_id) ? item.values.filter((value) => value._type === 'histogram') : [],
    ),
  )

function rangeOf(columns: readonly HistogramMedia[]): [number, number] {
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { bins, counts } of columns) {
    const total = counts.reduce((a, b) => a + b, 0)
    if (total === 0) continue
    let [first, last] = [0, counts.length - 1]
    for (let sum = 0; first < last && sum + (counts[first] ?? 0) <= OUTSIDE * total; first++)
      sum += counts[first] ?? 0
    for (let sum = 0; last > first && sum + (counts[last] ?? 0) <= OUTSIDE * total; last--)
      sum += counts[last] ?? 0
    low = Math.min(low, bins[first] ?? low)
    high = Math.max(high, bins[last + 1] ?? high)
  }
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1]
  return low === high ? [low - 0.5, high + 0.5] : [low, high]
}

/** The quantiles that are drawn on demand. */
export const QUANTILES = [0.05, 0.25, 0.5, 0.75, 0.95]

/** The smallest value below which a share of all counts lies; within a bin they are spread evenly. */
export function quantile({ bins, counts }: HistogramMedia, share: number): number | undefined {
  const total = counts.reduce((a, b) => a + b, 0)
  if (total === 0) return undefined
  let left = share * total
  for (let i = 0; i < counts.length; i++) {
    const n = counts[i] ?? 0
    const [from, to] = [bins[i] ?? 0, bins[i + 1] ?? 0]
    if (n > 0 && left <= n) return from + ((to - from) * left) / n
    left -= n
  }
  return bins.at(-1)
}

/**
 * Paints a column of pixels for each step: the colour is the density of its values, relative to the greatest one.
 * @param colourOf of a share, as red, green and blue
 */
export function paintHeatMap(
  canvas: HTMLCanvasElement,
  { columns, low, high }: HeatMap,
  height: number,
  colourOf: (share: number) => readonly [number, number, number],
): void {
  canvas.width = Math.max(1, columns.length)
  canvas.height = height
  const context = canvas.getContext('2d')
  if (context === null || columns.length === 0) return
  const densities = columns.map((column) => densityOf(column, low, high, height))
  const most = densities.reduce((a, column) => column.reduce((b, one) => Math.max(b, one), a), 0)
  const image = context.createImageData(columns.length, height)
  densities.forEach((column, x) => {
    column.forEach((density, y) => {
      // The square root shows tails beside peaks.
      const share = most === 0 ? 0 : Math.sqrt(density / most)
      const at = 4 * ((height - 1 - y) * columns.length + x)
      const [r, g, b] = share === 0 ? [0, 0, 0] : colourOf(share)
      image.data.set([r, g, b, share === 0 ? 0 : 255], at)
    })
  })
  context.putImageData(image, 0, 0)
}

/** The share of the values for each row of pixels, from the lowest. */
function densityOf({ bins, counts }: HistogramMedia, low: number, high: number, rows: number): Float64Array {
  const found = new Float64Array(rows)
  const total = counts.reduce((a, b) => a + b, 0)
  if (total === 0) return found
  const row = (high - low) / rows
  counts.forEach((n, i) => {
    const [from, to] = [bins[i] ?? 0, bins[i + 1] ?? 0]
    if (n === 0) return
    const density = n / total / Math.max(to - from, row)
    const first = Math.max(0, Math.floor((from - low) / row))
    const last = Math.min(rows - 1, Math.max(first, Math.ceil((to - low) / row) - 1))
    for (let y = first; y <= last; y++) found[y] = Math.max(found[y] ?? 0, density)
  })
  return found
}
