import { AttemptsDocument, type AttemptsQuery } from '../../__generated__/graphql.ts'
import { batchAt } from './batch-parts.ts'
import { notFound, queryWithCursor } from './graphql.ts'
import { get } from './request.ts'
import type { Series } from './series-frames.ts'
import { type WireRow, wireRow } from './wire-row.ts'

type AttemptRow = NonNullable<AttemptsQuery['job']>['attempts'][number]
/** One start of a job, in its batch or in a rerun of it. */
export type Attempt = WireRow<Omit<AttemptRow, 'supersededRanges'>, 'status'> & {
  /** The first ranges of superseded epochs. */
  superseded_ranges: [first: number, last: number][]
}

const attemptsAt = (batchId: string, jobId: string): string =>
  `${batchAt(batchId)}/jobs/${encodeURIComponent(jobId)}/attempts`

/** Oldest first. */
export async function fetchAttempts(batchId: string, jobId: string): Promise<Attempt[]> {
  const { job } = await queryWithCursor(AttemptsDocument, { batchId, id: jobId })
  if (job == null) throw notFound('job')
  // The schema declares the ranges as JSON.
  return job.attempts.map((one) => wireRow(one, 'status') as unknown as Attempt)
}

/** All points that one attempt reported, including superseded ones. */
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
