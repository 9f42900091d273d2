import {
  SharedClipsDocument,
  SharedGroupsDocument,
  SharedLogDocument,
  SharedMetricsDocument,
  SharedResourcesDocument,
} from '../../__generated__/graphql.ts'
import { beforeRead } from '../live/read-cursors.ts'
import type { Batch, Job } from './batches.ts'
import { query } from './graphql.ts'
import { get, type Page } from './request.ts'
import { type LogSource, NO_CLIP, type SeriesSource, type SeriesWanted } from './series.ts'
import { lower, upper, wireRow } from './wire-row.ts'

export interface Shared {
  batch: Batch
  jobs: Page<Job>
  anonymous: boolean
  expires_at: string | null
}
export async function fetchShared(
  token: string,
): Promise<{ batch: Batch; jobs: Job[]; anonymous: boolean; expires_at: string | null }> {
  await beforeRead()
  const jobs: Job[] = []
  for (let cursor: string | undefined; ; ) {
    const page: Shared = await get(`/api/shared/${encodeURIComponent(token)}`, { limit: 500, cursor })
    jobs.push(...page.jobs.items)
    cursor = page.jobs.next_cursor ?? undefined
    if (cursor === undefined) return { ...page, jobs: jobs.reverse() }
  }
}

/** Series through a share; REST has no route for them. */
export function sharedMetricsOf(token: string): SeriesSource {
  const asked = ({ keys, jobs, points, from, to, x, x_key, x_scale, y_scale, smooth }: SeriesWanted) => ({
    token,
    keys: keys && [...keys],
    jobs: jobs && [...jobs],
    range: x === undefined && x_key === undefined ? { from, to } : null,
    sampling: {
      mode: 'M4' as const,
      points: points ?? 1000,
      x: x && (x === 'wall' ? ('WALL' as const) : ('RELATIVE' as const)),
      xKey: x_key,
      xScale: x_scale && ('LOG' as const),
      yScale: y_scale && ('LOG' as const),
      smooth,
      between: x === undefined && x_key === undefined ? undefined : { from, to },
    },
  })
  return Object.assign(
    async (wanted: SeriesWanted, signal?: AbortSignal) => {
      const answer = await query(SharedMetricsDocument, asked(wanted), signal)
      return (answer.sharedBatch?.metrics ?? []).map((one) => ({
        job_id: one.job,
        key: one.key,
        steps: one.steps,
        values: one.values,
        times: one.times ?? undefined,
        x_values: one.xValues ?? undefined,
        smoothed: one.smoothed ?? undefined,
        smoothing: one.smoothing ?? undefined,
        total_points: one.totalPoints,
        returned_points: one.returnedPoints,
        sampled: one.sampled,
        non_finite: one.nonFinite,
      }))
    },
    {
      groups: async (wanted: SeriesWanted & { group_by: string }, signal?: AbortSignal) => {
        const answer = await query(
          SharedGroupsDocument,
          { ...asked(wanted), groupBy: wanted.group_by },
          signal,
        )
        return (answer.sharedBatch?.metricGroups ?? []).map((one) => wireRow(one))
      },
      clip: async (wanted: SeriesWanted & { keys: [string]; clip: number }, signal?: AbortSignal) => {
        const answer = await query(
          SharedClipsDocument,
          { ...asked(wanted), keys: wanted.keys, share: wanted.clip },
          signal,
        )
        return answer.sharedBatch?.metricClips[0] ?? NO_CLIP
      },
    },
  )
}

/** Resources through a share; their steps are Unix seconds. */
export const sharedResourcesOf =
  (token: string): SeriesSource =>
  async ({ keys, jobs, points, from, to }, signal) => {
    const answer = await query(
      SharedResourcesDocument,
      {
        token,
        keys: keys && [...keys],
        jobs: jobs && [...jobs],
        range: { from, to },
        sampling: { mode: 'M4', points: points ?? 1000 },
      },
      signal,
    )
    return (answer.sharedBatch?.resources ?? []).map(({ job, ...one }) => ({ job_id: job, ...wireRow(one) }))
  }

/** Log lines through a share: the last ones, those before a line, or those after it. */
export function sharedLogOf(token: string): LogSource {
  const idOf = (line: number | undefined): string | undefined =>
    line === undefined ? undefined : String(Math.max(0, line))
  return async ({ level, stream, q, job_id, before, after, tail, limit }) => {
    const answer = await query(SharedLogDocument, {
      token,
      level,
      streams: stream && [upper(stream)],
      q,
      jobId: job_id,
      ...(after === undefined
        ? { first: 0, last: tail ?? limit ?? 500, beforeId: idOf(before) }
        : { first: limit ?? 500, afterId: idOf(after) }),
    })
    return (answer.sharedBatch?.logLines.edges ?? []).map(({ node }) => ({
      db_id: Number(node.dbId),
      timestamp: node.timestamp,
      job_id: node.jobId,
      level: node.level,
      stream: node.stream === null ? null : lower(node.stream),
      line: node.line,
    }))
  }
}
