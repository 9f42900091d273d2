import { textsIn } from './address-values.ts'
import { brushIn, type CompareSearch, plotsIn, scalesIn } from './compare-search.ts'

/** Settings shared with comparisons. */
type Shared =
  | 'axes'
  | 'brush'
  | 'scales'
  | 'groups'
  | 'sx'
  | 'sy'
  | 'logx'
  | 'logy'
  | 'crashed'
  | 'custom'
  | 'step'
  | 'tile'
  | 'layout'
  | 'looks'

/** The search parameters of a sweep, so that a link restores it. */
export interface SweepSearch extends Pick<CompareSearch, Shared> {
  /** The column that colours the lines and sorts the table. */
  metric?: string
  /** Ids of the jobs; without it, all jobs of the batch. */
  jobs?: string[]
  /** Whether only the jobs within the brush are shown. */
  only?: boolean
  /** The id of the job that the others are compared with. */
  base?: string
}

export function readSweepSearch(given: Record<string, unknown>): SweepSearch {
  const found: SweepSearch = plotsIn(given)
  const [brush, scales] = [brushIn(given.brush), scalesIn(given.scales)]
  if (typeof given.metric === 'string' && given.metric !== '') found.metric = given.metric
  if (typeof given.base === 'string' && given.base !== '') found.base = given.base
  for (const name of ['axes', 'jobs', 'groups'] as const) {
    const texts = textsIn(given[name])
    if (texts) found[name] = texts
  }
  if (brush) found.brush = brush
  if (brush && given.only === true) found.only = true
  if (scales) found.scales = scales
  return found
}
