import { numberIn } from '../../lib/address-values.ts'
import { type ChartSearch, rangeOf, readChartSearch } from '../../lib/charts/search.ts'
import { type LogSearch, readLogSearch } from '../../lib/log-search.ts'
import { type MediaChoices, readMediaChoices } from '../../lib/media-search.ts'

/** The search parameters of the page of a job. */
export interface JobPageSearch extends ChartSearch, LogSearch, MediaChoices {
  /** The attempt whose curves are drawn in the background. */
  attempt?: number
  /** The visible range of the resources, in seconds. */
  used?: [number, number]
}

export function readJobSearch(given: Record<string, unknown>): JobPageSearch {
  const attempt = numberIn(given.attempt)
  const used = rangeOf(given.used)
  return {
    ...readChartSearch(given),
    ...readLogSearch(given),
    ...readMediaChoices(given),
    ...(attempt !== undefined && Number.isSafeInteger(attempt) && attempt > 0 && { attempt }),
    ...(used && { used }),
  }
}
