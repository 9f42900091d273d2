import { brushIn, type CompareSearch, scalesIn, scatterIn } from './compare-search.ts'

/** What is said as of a comparison. */
type Shared = 'axes' | 'brush' | 'scales' | 'groups' | 'sx' | 'sy' | 'logx' | 'logy'

/** What the address says of a sweep: a link restores it. */
export interface SweepSearch extends Pick<CompareSearch, Shared> {
  /** The column that colours the lines and orders the table. */
  metric?: string
  /** Jobs by id; all of the batch without it. */
  jobs?: string[]
}

export function readSweepSearch(given: Record<string, unknown>): SweepSearch {
  const found: SweepSearch = scatterIn(given)
  const [brush, scales] = [brushIn(given.brush), scalesIn(given.scales)]
  if (typeof given.metric === 'string' && given.metric !== '') found.metric = given.metric
  for (const name of ['axes', 'jobs', 'groups'] as const) {
    const value = given[name]
    if (Array.isArray(value) && value.length > 0) found[name] = value.map(String)
  }
  if (brush) found.brush = brush
  if (scales) found.scales = scales
  return found
}
