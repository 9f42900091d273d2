import { type ChartSearch, rangeOf, readChartSearch } from '../../lib/charts/search.ts'
import { type LogSearch, readLogSearch } from '../../lib/log-search.ts'

/** What the address of a job says: its curves, its lines, and what is drawn behind. */
export interface JobPageSearch extends ChartSearch, LogSearch {
  /** The attempt whose curves are drawn behind. */
  attempt?: number
  /** First and last second of the resources that are shown. */
  used?: [number, number]
}

export function readJobSearch(given: Record<string, unknown>): JobPageSearch {
  const attempt = Number(given.attempt)
  const used = rangeOf(given.used)
  return {
    ...readChartSearch(given),
    ...readLogSearch(given),
    ...(Number.isSafeInteger(attempt) && attempt > 0 && { attempt }),
    ...(used && { used }),
  }
}
