import { textIn } from '../../lib/address-values.ts'
import { rangeOf } from '../../lib/charts/search.ts'
import { fromAddress as queryFrom } from '../../lib/query.ts'
import { fromAddress } from '../../lib/selection.ts'

/** The search parameters of the Jobs tab. */
export interface JobsSearch {
  /** The picked job. */
  job?: string
  /** The column to sort by, descending with a leading minus. */
  sort?: string
  q?: string
  status?: string
  /** The first and last epoch of the curves beside the table. */
  zoom?: [number, number]
  /** The selected jobs, if they are few. */
  sel?: string[]
}

export function readJobsSearch(given: Record<string, unknown>): JobsSearch {
  const found: JobsSearch = {}
  for (const name of ['job', 'sort', 'q', 'status'] as const) {
    const value = textIn(given[name])
    if (value !== undefined) found[name] = value
  }
  // `name` was the id of a job.
  if (found.q !== undefined) found.q = queryFrom(found.q.replace(/(^|\s)name(?=[:=]|!=)/g, '$1id'))
  const sel = fromAddress(given.sel)
  if (sel) found.sel = sel
  const zoom = rangeOf(given.zoom)
  return zoom ? { ...found, zoom } : found
}
