import { mark } from '../live/stream.ts'
import { ask, get, patch, post, remove } from './request.ts'
import type { Batch, Job, LogLine, Numeric, Page, Series, Share } from './types.ts'

export const batchAt = (id: string): string => `/api/batches/${encodeURIComponent(id)}`

export interface BatchFilter {
  project?: readonly string[]
  status?: readonly string[]
  host?: readonly string[]
  owner?: readonly string[]
  tag?: readonly string[]
  q?: readonly string[]
}
/** Newest first. Whatever happens after the answer comes over the stream, which goes on from the mark. */
export async function fetchBatches(
  filter: BatchFilter,
  page: { limit: number; cursor?: string | undefined },
): Promise<Page<Batch>> {
  await mark()
  return get('/api/batches', { ...filter, ...page })
}
export async function fetchBatch(id: string): Promise<Batch> {
  await mark()
  return get(batchAt(id))
}
/** Every job of the batch, oldest first. */
export async function fetchJobs(batchId: string): Promise<Job[]> {
  await mark()
  const all: Job[] = []
  let cursor: string | undefined
  do {
    const page: Page<Job> = await get(`${batchAt(batchId)}/jobs`, { limit: 500, cursor })
    all.push(...page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return all.reverse()
}
export const fetchRunningJobs = (): Promise<Page<Job>> =>
  get('/api/jobs', { status: ['running'], limit: 500 })

export interface SeriesWanted {
  keys?: readonly string[] | undefined
  /** All jobs without it. */
  jobs?: readonly string[] | undefined
  points?: number | undefined
  from?: number | undefined
  to?: number | undefined
}
export type SeriesSource = (wanted: SeriesWanted, signal?: AbortSignal) => Promise<Series[]>

export const metricsOf =
  (batchId: string): SeriesSource =>
  async ({ keys, jobs, ...range }, signal) => {
    await mark()
    const query = { ...range, key: keys, job: jobs }
    return (await get<{ series: Series[] }>(`${batchAt(batchId)}/metrics`, query as never, signal)).series
  }
export const resourcesOf =
  (batchId: string): SeriesSource =>
  async ({ keys, jobs, ...range }, signal) => {
    await mark()
    const query = { ...range, key: keys, job: jobs }
    return (await get<{ series: Series[] }>(`${batchAt(batchId)}/resources`, query as never, signal)).series
  }

export interface LogWanted {
  level?: string | undefined
  q?: string | undefined
  job_id?: string | undefined
  before?: number | undefined
  tail?: number | undefined
}
export async function fetchLog(batchId: string, wanted: LogWanted): Promise<LogLine[]> {
  await mark()
  return (await get<{ items: LogLine[] }>(`${batchAt(batchId)}/log-lines`, { ...wanted })).items
}

export interface Eta {
  eta_s: number | null
  low_s: number | null
  high_s: number | null
  eta_at: string | null
}
export const fetchEta = (id: string): Promise<Eta> => get(`${batchAt(id)}/eta`)
export interface Health {
  liveness: 'running' | 'stalled' | 'disconnected' | 'dead' | null
  silent_s: number
  idle_jobs: string[]
  reasons: string[]
}
export const fetchHealth = (id: string): Promise<Health> => get(`${batchAt(id)}/health`)

export const stopBatch = (id: string): Promise<void> => post(`${batchAt(id)}/stop`)
export const restoreBatch = (id: string): Promise<void> => post(`${batchAt(id)}/restore`)
export const changeBatch = (id: string, body: { tags?: string[]; notes?: string }): Promise<Batch> =>
  patch(batchAt(id), body)
export const deleteBatches = (
  batch_ids: readonly string[],
): Promise<{ deleted: string[]; not_found: string[]; forbidden: string[] }> =>
  post('/api/batches/bulk-delete', { batch_ids })

export const fetchShares = (id: string): Promise<Page<Share>> => get(`${batchAt(id)}/shares`, { limit: 100 })
export const makeShare = (
  id: string,
  body: { anonymous: boolean; expires_at?: string },
): Promise<{ id: string; url: string; token: string }> => post(`${batchAt(id)}/shares`, body)
export const revokeShare = (id: string): Promise<void> => remove(`/api/shares/${encodeURIComponent(id)}`)

export interface Shared {
  batch: Batch
  jobs: Page<Job>
  anonymous: boolean
  expires_at: string | null
}
export async function fetchShared(token: string): Promise<{ batch: Batch; jobs: Job[]; anonymous: boolean }> {
  await mark()
  const jobs: Job[] = []
  for (let cursor: string | undefined; ; ) {
    const page: Shared = await get(`/api/shared/${encodeURIComponent(token)}`, { limit: 500, cursor })
    jobs.push(...page.jobs.items)
    cursor = page.jobs.next_cursor ?? undefined
    if (cursor === undefined) return { ...page, jobs: jobs.reverse() }
  }
}

interface Columns {
  job: string | null
  key: string
  steps: number[]
  values: Numeric[]
  totalPoints: number
  returnedPoints: number
  sampled: boolean
  nonFinite: number
}
const SHARED_METRICS = `query SharedMetrics($token: String!, $keys: [String!], $jobs: [ID!], $range: EpochRange, $sampling: Sampling) {
  sharedBatch(token: $token) {
    metrics(keys: $keys, jobs: $jobs, range: $range, sampling: $sampling) {
      job key steps values totalPoints returnedPoints sampled nonFinite
    }
  }
}`
/** The series that a share opens: there is no REST route for them. */
export const sharedMetricsOf =
  (token: string): SeriesSource =>
  async ({ keys, jobs, points, from, to }, signal) => {
    const answer = await ask<{ sharedBatch: { metrics: Columns[] } | null }>(
      SHARED_METRICS,
      { token, keys, jobs, range: { from, to }, sampling: { mode: 'M4', points: points ?? 1000 } },
      signal,
    )
    return (answer.sharedBatch?.metrics ?? []).map((one) => ({
      job_id: one.job,
      key: one.key,
      steps: one.steps,
      values: one.values,
      total_points: one.totalPoints,
      returned_points: one.returnedPoints,
      sampled: one.sampled,
      non_finite: one.nonFinite,
    }))
  }
