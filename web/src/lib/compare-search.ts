import { numberIn, textIn, textsIn } from './address-values.ts'
import { type ChartSearch, readChartSearch } from './charts/search.ts'
import { type CustomChart, readCustomCharts } from './custom-charts.ts'
import { type MediaChoices, readMediaChoices } from './media-search.ts'

/** Chart settings shared with the page of a batch. */
const CURVES = [
  'log',
  'xlog',
  'x',
  'more',
  'right',
  'smooth',
  'zoom',
  'y',
  'clip',
  'group',
  'band',
  'all',
] as const

/** The search parameters of a comparison, so that a link restores it. */
export interface CompareSearch extends Pick<ChartSearch, (typeof CURVES)[number]>, MediaChoices {
  batches: string[]
  /** Ids of jobs. If a batch has some of them, only these are compared. */
  ids?: string[]
  /** Whether rows without differences are listed too. */
  same?: boolean
  /** The names of the drawn series. */
  keys?: string[]
  /** Axes of the parallel coordinates plot, in order. */
  axes?: string[]
  /** Brushed ranges by axis. Jobs outside are hidden in all charts. */
  brush?: Record<string, [number, number]>
  /** Axis scales that the user chose; the other scales follow the data. */
  scales?: Record<string, 'log' | 'linear'>
  /** Parameters to group jobs by. */
  groups?: string[]
  /** Whether jobs that failed, were pruned or diverged count in groups, plots and the importance of parameters. */
  crashed?: boolean
  /** The name of the job whose curves are subtracted from those of the others. */
  minus?: string
  /** Charts that the user made. */
  custom?: CustomChart[]
  /** The axes of the scatter plot. */
  sx?: string
  sy?: string
  logx?: boolean
  logy?: boolean
}

const list = (value: unknown): string[] | undefined => textsIn(typeof value === 'string' ? [value] : value)

export function readCompareSearch(given: Record<string, unknown>): CompareSearch {
  const found: CompareSearch = { batches: list(given.batches) ?? [] }
  // Older links named a single series.
  const keys = list(given.keys) ?? list(given.key === undefined ? [] : [given.key])
  const [axes, groups, brush] = [list(given.axes), list(given.groups), brushIn(given.brush)]
  const ids = list(given.ids)
  if (ids) found.ids = ids
  if (given.same === true) found.same = true
  const minus = textIn(given.minus)
  if (minus) found.minus = minus
  if (keys) found.keys = keys
  if (axes) found.axes = axes
  if (groups) found.groups = groups
  Object.assign(found, plotsIn(given))
  if (brush) found.brush = brush
  const scales = scalesIn(given.scales)
  if (scales) found.scales = scales
  const curves = readChartSearch(given)
  return Object.assign(
    found,
    Object.fromEntries(CURVES.flatMap((name) => (curves[name] === undefined ? [] : [[name, curves[name]]]))),
  )
}

/** What plots of columns and media show, on the pages of a comparison and of a sweep. */
export function plotsIn(
  given: Record<string, unknown>,
): Pick<CompareSearch, 'sx' | 'sy' | 'logx' | 'logy' | 'crashed' | 'custom' | keyof MediaChoices> {
  const custom = readCustomCharts(given.custom)
  const [sx, sy] = [textIn(given.sx), textIn(given.sy)]
  return {
    ...(sx && { sx }),
    ...(sy && { sy }),
    ...(typeof given.logx === 'boolean' && { logx: given.logx }),
    ...(typeof given.logy === 'boolean' && { logy: given.logy }),
    ...(given.crashed === true && { crashed: true }),
    ...(custom && { custom }),
    ...readMediaChoices(given),
  }
}

export function brushIn(value: unknown): Record<string, [number, number]> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const found: [string, [number, number]][] = []
  for (const [name, range] of Object.entries(value)) {
    if (!Array.isArray(range)) continue
    const [from, to] = range.map(numberIn)
    if (from !== undefined && to !== undefined && to > from) found.push([name, [from, to]])
  }
  return found.length === 0 ? undefined : Object.fromEntries(found)
}

export function scalesIn(value: unknown): Record<string, 'log' | 'linear'> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const found = Object.entries(value).filter(
    (one): one is [string, 'log' | 'linear'] => one[1] === 'log' || one[1] === 'linear',
  )
  return found.length === 0 ? undefined : Object.fromEntries(found)
}
