import { numberIn, textIn, textsIn } from '../address-values.ts'
import { type CustomChart, readCustomCharts } from '../custom-charts.ts'
import { fromAddress } from '../selection.ts'
import { type ChartLayout, readLayout } from './layout.ts'

/** The search parameters of charts, so that a link restores them. */
export interface ChartSearch {
  /** A regular expression that selects series by name. */
  series?: string
  /** Pinned series: listed first, even if the expression does not match them. */
  keep?: string[]
  /** Collapsed sections of charts, by id. */
  closed?: string[]
  /** Computed series, as `=val_loss - train_loss`. */
  formulas?: string[]
  /** How the charts are arranged. */
  layout?: ChartLayout
  /** A regular expression that selects jobs by name. */
  jobs?: string
  /** Hidden jobs. */
  hide?: string[]
  /** The only job that is drawn. */
  solo?: string
  /** The selected jobs, if they are few, and whether only they are drawn. */
  sel?: string[]
  only?: boolean
  /** Jobs that are drawn regardless of filters. */
  pin?: string[]
  /** The number of drawn jobs; 20 by default. */
  top?: number
  /** The order of jobs: `last.<series>` or `param.<name>`, descending with a leading minus; by start by default. */
  by?: string
  /** Draw all jobs. */
  all?: boolean
  /** Logarithmic y-axis and x-axis. */
  log?: boolean
  xlog?: boolean
  /** The x-axis, epochs by default; `metric.<series>` uses the values of another series. */
  x?: 'relative' | 'wall' | `metric.${string}`
  /** Smoothing: the weight of the past, 0 to 0.99. */
  smooth?: number
  /** The first and last visible epoch or second. */
  zoom?: [number, number]
  /** Series added to a chart, and those of them on the right axis, by the chart's own series. */
  more?: Record<string, string[]>
  right?: Record<string, string[]>
  /** The visible y-range, by series. */
  y?: Record<string, [number, number]>
  /** The share of points that the y-axis may clip at either end. */
  clip?: number
  /** `param.<name>` or a field: jobs with the same value are drawn as one curve. */
  group?: string
  /** The band around a group's mean; without it, the page's default. */
  band?: 'std' | 'range' | 'none'
  /** Charts of columns that the user made, in a project's workspace. */
  custom?: CustomChart[]
}

/** The most formulas on a page. */
export const MAX_FORMULAS = 20

/** Two ascending numbers. */
export const rangeOf = (value: unknown): [number, number] | undefined => {
  if (!Array.isArray(value)) return undefined
  const [from, to] = value.map(numberIn)
  return from !== undefined && to !== undefined && to > from && Number.isFinite(to - from)
    ? [from, to]
    : undefined
}

const isMetric = (x: unknown): x is `metric.${string}` =>
  typeof x === 'string' && x.startsWith('metric.') && x.length > 7

/** The series that is the x-axis. */
export const xKeyOf = (x: ChartSearch['x']): string | undefined => (isMetric(x) ? x.slice(7) : undefined)

/** Lists by name, without empty ones. */
export function listsOf(given: unknown): Record<string, string[]> | undefined {
  if (typeof given !== 'object' || given === null) return undefined
  const found = Object.entries(given).flatMap(([name, value]) => {
    const all = textsIn(value)
    return all ? [[name, all] as const] : []
  })
  return found.length > 0 ? Object.fromEntries(found) : undefined
}

export function readChartSearch(given: Record<string, unknown>): ChartSearch {
  const found: ChartSearch = {}
  for (const name of ['series', 'jobs', 'solo', 'group', 'by'] as const) {
    const value = textIn(given[name])
    if (value) found[name] = value
  }
  for (const name of ['hide', 'pin', 'keep', 'closed'] as const) {
    const value = textsIn(given[name])
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
  const formulas = textsIn(given.formulas)
    ?.filter((one) => one.startsWith('='))
    .slice(0, MAX_FORMULAS)
  if (formulas && formulas.length > 0) found.formulas = formulas
  const layout = readLayout(given.layout)
  if (layout) found.layout = layout
  const custom = readCustomCharts(given.custom)
  if (custom) found.custom = custom
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

/** A regular expression for exactly these names. */
export const matcherOf = (names: readonly string[]): string =>
  `^(?:${names.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')).join('|')})$`

/** A regular expression as users type it; an invalid one matches its own text. */
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
