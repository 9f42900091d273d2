import { rangeOf } from '../../lib/charts/search.ts'
import { fromAddress } from '../../lib/selection.ts'

/** What the address says of the jobs of a batch. */
export interface JobsSearch {
  /** The one that is picked. */
  job?: string
  /** A column; falling with a minus before it. */
  sort?: string
  q?: string
  status?: string
  /** First and last epoch of the curves beside the table. */
  zoom?: [number, number]
  /** The selected jobs, when they are few. */
  sel?: string[]
}

export function readJobsSearch(given: Record<string, unknown>): JobsSearch {
  const found: JobsSearch = {}
  for (const name of ['job', 'sort', 'q', 'status'] as const) {
    const value = given[name]
    if (value !== undefined && value !== null && value !== '') found[name] = String(value)
  }
  const sel = fromAddress(given.sel)
  if (sel) found.sel = sel
  const zoom = rangeOf(given.zoom)
  return zoom ? { ...found, zoom } : found
}
