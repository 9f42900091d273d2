import {
  BatchesDocument,
  BatchJobsDocument,
  type BatchRowFragment,
  type BatchSelfFragment,
  type BatchStatus,
  type JobRowFragment,
  SharedClipsDocument,
  SharedGroupsDocument,
  SharedLogDocument,
  SharedMetricsDocument,
  SharedResourcesDocument,
} from '../../__generated__/graphql.ts'
import { beforeRead } from '../live/read-cursors.ts'
import type { TagBody } from '../tags.ts'
import { JOBS_AT_ONCE, partOf } from './batch-parts.ts'
import { nextOf, nodesOf, notFound, query, queryWithCursor } from './graphql.ts'
import { get, getBytes, patch, post, type Query, withQuery } from './request.ts'
import { readSeriesFrames, SERIES_FRAMES } from './series-frames.ts'
import type { Batch, Job, LogLine, Page, Series, SeriesClip, SeriesGroup } from './types.ts'
import { lower, upper, wireRow } from './wire-row.ts'

export const batchAt = (id: string): string => `/api/batches/${encodeURIComponent(id)}`

export interface BatchFilter {
  project?: readonly string[]
  status?: readonly string[]
  host?: readonly string[]
  owner?: readonly string[]
  tag?: readonly string[]
  group?: readonly string[]
  starred?: readonly boolean[]
  archived?: readonly boolean[]
  q?: readonly string[]
  id?: readonly string[]
  /** Conditions in the server's syntax: `lr<0.01`. */
  where?: readonly string[]
}
/** Converts the filter to GraphQL variables. */
export const filterVariables = ({ status, ...words }: BatchFilter) => ({
  ...Object.fromEntries(Object.entries(words).map(([name, list]) => [name, list && [...list]])),
  status: status && (status.map((one) => one.toUpperCase()) as BatchStatus[]),
})
/** Newest first. Later changes arrive over the stream, which continues from the returned cursor. */
export async function fetchBatches(
  filter: BatchFilter,
  page: { limit: number; cursor?: string | undefined },
): Promise<Page<Batch>> {
  const { batches } = await queryWithCursor(BatchesDocument, {
    filter: filterVariables(filter),
    first: page.limit,
    after: page.cursor,
    columns: [],
    withColumns: false,
  })
  return { items: nodesOf(batches).map(batchOf), next_cursor: nextOf(batches) }
}
/** Deleted batches that the user may restore; only REST lists them. */
export const fetchDeleted = (cursor: string | undefined): Promise<Page<Batch>> =>
  get('/api/batches', { deleted: 'true', limit: 100, ...(cursor && { cursor }) })
export async function fetchBatch(id: string): Promise<Batch> {
  // The response may include other parts.
  const { jobs, eta, health, timeline, agentCommands, delivery, shares, muted, ...head } = await partOf(
    id,
    'head',
  )
  // The `head` part has all these fields.
  return batchOf(head as BatchRowFragment & BatchSelfFragment)
}
export const batchOf = (row: BatchRowFragment & Partial<BatchSelfFragment>): Batch => wireRow(row, 'status')
/** The schema declares the latest values as JSON. */
export const jobOf = (row: JobRowFragment): Job => wireRow(row, 'status') as Job
/** Every job of the batch, oldest first. */
export async function fetchJobs(batchId: string): Promise<Job[]> {
  let page = (await partOf(batchId, 'jobs')).jobs
  const all: Job[] = []
  for (;;) {
    if (page === undefined) throw notFound('batch')
    all.push(...nodesOf(page).map(jobOf))
    const after = nextOf(page)
    if (after === null) return all.reverse()
    page = (await query(BatchJobsDocument, { id: batchId, first: JOBS_AT_ONCE, after })).batch?.jobs
  }
}
export interface SeriesWanted {
  keys?: readonly string[] | undefined
  /** Without it, all jobs. */
  jobs?: readonly string[] | undefined
  points?: number | undefined
  from?: number | undefined
  to?: number | undefined
  /** The x-axis, epochs by default; `from` and `to` are then seconds. */
  x?: 'relative' | 'wall' | undefined
  /** A series whose values are the x-axis instead of epochs; `from` and `to` are then values of it. */
  x_key?: string | undefined
  x_scale?: 'log' | undefined
  y_scale?: 'log' | undefined
  /** Weight of the past in the moving average that is returned with the values. */
  smooth?: number | undefined
}
export interface SeriesSource {
  (wanted: SeriesWanted, signal?: AbortSignal): Promise<Series[]>
  /** Its values are computed from those that jobs report, so that arriving points cannot be appended. */
  isComputed?: boolean
  /** Aggregates over all jobs with a common value; only for sources that support it. */
  groups?: (wanted: SeriesWanted & { group_by: string }, signal?: AbortSignal) => Promise<SeriesGroup[]>
  /** The y-range of one series that clips at most this share of its points at either end. */
  clip?: (
    wanted: SeriesWanted & { keys: [string]; clip: number },
    signal?: AbortSignal,
  ) => Promise<SeriesClip>
}

export function metricsOf(batchId: string): SeriesSource {
  const at = `${batchAt(batchId)}/metrics`
  const queryOf = ({ keys, jobs, ...rest }: SeriesWanted): Query =>
    ({ ...rest, key: keys, job: jobs }) as never
  const read = async <T>(path: string, wanted: SeriesWanted, signal?: AbortSignal): Promise<T> => {
    await beforeRead()
    return get<T>(path, queryOf(wanted), signal)
  }
  return Object.assign(
    async (wanted: SeriesWanted, signal?: AbortSignal) => {
      await beforeRead()
      return readSeriesFrames(await getBytes(withQuery(at, queryOf(wanted)), SERIES_FRAMES, signal))
    },
    {
      groups: async (wanted: SeriesWanted, signal?: AbortSignal) =>
        (await read<{ groups: SeriesGroup[] }>(`${at}/groups`, wanted, signal)).groups,
      clip: async (wanted: SeriesWanted, signal?: AbortSignal) =>
        (await read<{ clips: SeriesClip[] }>(at, { ...wanted, points: 4 }, signal)).clips[0] ?? NO_CLIP,
    },
  )
}
const NO_CLIP: SeriesClip = { low: null, high: null, hidden: 0 }
export const resourcesOf =
  (batchId: string): SeriesSource =>
  async ({ keys, jobs, ...range }, signal) => {
    await beforeRead()
    const query = { ...range, key: keys, job: jobs }
    return (await get<{ series: Series[] }>(`${batchAt(batchId)}/resources`, query as never, signal)).series
  }

export interface LogWanted {
  level?: string | undefined
  stream?: 'stdout' | 'stderr' | undefined
  q?: string | undefined
  job_id?: string | undefined
  before?: number | undefined
  after?: number | undefined
  tail?: number | undefined
  limit?: number | undefined
}
/** Lines in the order of their arrival. */
export type LogSource = (wanted: LogWanted) => Promise<LogLine[]>
export async function fetchLog(batchId: string, wanted: LogWanted): Promise<LogLine[]> {
  await beforeRead()
  return (await get<{ items: LogLine[] }>(`${batchAt(batchId)}/log-lines`, { ...wanted })).items
}

export interface BatchEdit extends TagBody {
  /** Null removes the name. */
  name?: string | null
  group?: string | null
  notes?: string
  starred?: boolean
  archived?: boolean
}
export const stopBatch = (id: string): Promise<void> => post(`${batchAt(id)}/stop`)
export const restoreBatch = (id: string): Promise<void> => post(`${batchAt(id)}/restore`)
export const changeBatch = (id: string, body: BatchEdit): Promise<Batch> => patch(batchAt(id), body)
export const deleteBatches = (
  batch_ids: readonly string[],
): Promise<{ deleted: string[]; not_found: string[]; forbidden: string[] }> =>
  post('/api/batches/bulk-delete', { batch_ids })

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
