import { mark } from '../live/stream.ts'
import { batchAt } from './batches.ts'
import { get } from './request.ts'
import type { Numeric, Series, Status } from './types.ts'

/** One start of a job: in its batch, or in one that is tied to that by a rerun. */
export interface Attempt {
  n: number
  batch_id: string
  started_at: string
  ended_at: string | null
  status: Status | 'superseded'
  failure_reason: string | null
  epochs: number
  first_epoch: number | null
  last_epoch: number | null
  superseded_epochs: number
  /** The first stretches of them. */
  superseded_ranges: [first: number, last: number][]
  elapsed_s: Numeric | null
  /** False: retention purged some of it. */
  complete: boolean
}

const attemptsAt = (batchId: string, jobId: string): string =>
  `${batchAt(batchId)}/jobs/${encodeURIComponent(jobId)}/attempts`

/** Oldest first. */
export async function fetchAttempts(batchId: string, jobId: string): Promise<Attempt[]> {
  await mark()
  return (await get<{ items: Attempt[] }>(attemptsAt(batchId, jobId))).items
}

/** What one attempt reported, whatever was superseded of it. */
export const fetchAttemptSeries = async (
  batchId: string,
  jobId: string,
  n: number,
  wanted: {
    keys?: readonly string[] | undefined
    points?: number | undefined
    from?: number | undefined
    to?: number | undefined
  },
  signal?: AbortSignal,
): Promise<Series[]> => {
  const { keys, ...rest } = wanted
  const query = { ...rest, key: keys }
  return (
    await get<{ series: Series[] }>(`${attemptsAt(batchId, jobId)}/${n}/metrics`, query as never, signal)
  ).series
}
