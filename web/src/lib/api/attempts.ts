import { AttemptsDocument } from '../../__generated__/graphql.ts'
import { batchAt } from './batches.ts'
import { askToFollow, notFound } from './graphql.ts'
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
  const { job } = await askToFollow(AttemptsDocument, { batchId, id: jobId })
  if (job == null) throw notFound('job')
  return job.attempts.map((one) => ({
    n: one.n,
    batch_id: one.batchId,
    started_at: one.startedAt,
    ended_at: one.endedAt,
    status: one.status.toLowerCase() as Attempt['status'],
    failure_reason: one.failureReason,
    epochs: one.epochs,
    first_epoch: one.firstEpoch,
    last_epoch: one.lastEpoch,
    superseded_epochs: one.supersededEpochs,
    superseded_ranges: one.supersededRanges as unknown as Attempt['superseded_ranges'],
    elapsed_s: one.elapsedS,
    complete: one.complete,
  }))
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
