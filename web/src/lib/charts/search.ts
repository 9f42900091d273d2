import { fromAddress } from '../selection.ts'

/** What the address says of the charts: a link restores what was shown. */
export interface ChartSearch {
  /** Series whose names this regular expression finds. */
  series?: string
  /** Pinned series: first in the list, even if the expression does not match them. */
  keep?: string[]
  /** Sections of charts that are closed. */
  closed?: string[]
  /** Jobs whose names it finds. */
  jobs?: string
  /** Jobs that are not drawn. */
  hide?: string[]
  /** The one job that is drawn. */
  solo?: string
  /** The selected jobs, when they are few, and whether only they are drawn. */
  sel?: string[]
  only?: boolean
  /** Jobs that are drawn regardless of filters. */
  pin?: string[]
  /** How many jobs are drawn; 20 without it. */
  top?: number
  /** What they are ordered by: `last.<series>` or `param.<name>`, falling with a minus before it; start without it. */
  by?: string
  /** Every job. */
  all?: boolean
  /** Logarithmic axes: of values, of epochs or times. */
  log?: boolean
  xlog?: boolean
  /** Epochs without it; `metric.<series>`: the values of another series. */
  x?: 'relative' | 'wall' | `metric.${string}`
  /** 0 to 0.99, the weight of the past. */
  smooth?: number
  /** First and last epoch, or second, that is shown. */
  zoom?: [number, number]
  /** Series that were added to a chart, and those of them with the axis on the right, by the chart's own series. */
  more?: Record<string, string[]>
  right?: Record<string, string[]>
  /** Least and greatest value that is shown, by series. */
  y?: Record<string, [number, number]>
  /** Share of the points that the y-axis may leave out at either end. */
  clip?: number
  /** `param.<name>`, or a field: one curve for all jobs that have it in common. */
  group?: string
  /** What is drawn around a group's mean; without it what the page draws by default. */
  band?: 'std' | 'range' | 'none'
}

const text = (value: unknown): string | undefined =>
  value === undefined || value === null || value === '' ? undefined : String(value)
const list = (value: unknown): string[] | undefined =>
  Array.isArray(value) && value.length > 0 ? value.map(String) : undefined
/** Two rising numbers. */
export const rangeOf = (value: unknown): [number, number] | undefined => {
  if (!Array.isArray(value)) return undefined
  const [from, to] = value.map(Number)
  return from !== undefined && to !== undefined && to > from && Number.isFinite(to - from)
    ? [from, to]
    : undefined
}

const isMetric = (x: unknown): x is `metric.${string}` =>
  typeof x === 'string' && x.startsWith('metric.') && x.length > 7

/** The series whose values are the x-axis. */
export const xKeyOf = (x: ChartSearch['x']): string | undefined => (isMetric(x) ? x.slice(7) : undefined)

/** Lists by name, without those that are empty. */
export function listsOf(given: unknown): Record<string, string[]> | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const found = Object.entries(given).flatMap(([name, value]) => {
    const all = list(value)
    return all ? [[name, all] as const] : []
  })
  return found.length > 0 ? Object.fromEntries(found) : undefined
}

export function readChartSearch(given: Record<string, unknown>): ChartSearch {
  const found: ChartSearch = {}
  for (const name of ['series', 'jobs', 'solo', 'group', 'by'] as const) {
    const value = text(given[name])
    if (value) found[name] = value
  }
  for (const name of ['hide', 'pin', 'keep', 'closed'] as const) {
    const value = list(given[name])
    if (value) found[name] = value
  }
  const sel = fromAddress(given.sel)
  if (sel) found.sel = sel
  for (const name of ['all', 'log', 'xlog', 'only'] as const) if (given[name] === true) found[name] = true
  if (given.x === 'relative' || given.x === 'wall' || isMetric(given.x)) found.x = given.x
  for (const name of ['more', 'right'] as const) {
    const value = listsOf(given[name])
    if (value) found[name] = value
  }
  if (given.band === 'std' || given.band === 'range' || given.band === 'none') found.band = given.band
  if (typeof given.smooth === 'number' && given.smooth > 0) found.smooth = Math.min(0.99, given.smooth)
  if (typeof given.clip === 'number' && given.clip > 0) found.clip = Math.min(0.2, given.clip)
  if (typeof given.top === 'number' && given.top >= 1) found.top = Math.min(1000, Math.floor(given.top))
  const zoom = rangeOf(given.zoom)
  if (zoom) found.zoom = zoom
  if (typeof given.y === 'object' && given.y !== null) {
    const ranges = Object.entries(given.y).flatMap(([key, value]) => {
      const range = rangeOf(value)
      return range ? [[key, range] as const] : []
    })
    if (ranges.length > 0) found.y = Object.fromEntries(ranges)
  }
  return found
}

/** A regular expression as people type it; one that is not finished finds its own text. */
export function matcher(pattern: string | undefined): (name: string) => boolean {
  if (!pattern) return () => true
  try {
    const found = new RegExp(pattern, 'i')
    return (name) => found.test(name)
  } catch {
    const plain = pattern.toLowerCase()
    return (name) => name.toLowerCase().includes(plain)
  }
}
