import { batchAt } from './batch-parts.ts'
import { get, type Page, type Query } from './request.ts'

const TYPES = ['image', 'audio', 'video', 'table', 'html', 'plot', 'text', 'histogram'] as const
export type MediaType = (typeof TYPES)[number]

/** A key of media values, with its range of steps. */
export interface MediaKey {
  key: string
  type: MediaType
  jobs: number
  points: number
  first_step: number
  last_step: number
}
/** A value whose content is a file. Fields that the script may set are not checked by the service. */
export interface StoredMedia {
  _type: Exclude<MediaType, 'histogram'>
  sha256: string
  size: number
  media_type: string
  uploaded: boolean
  /** Null until it is uploaded. */
  url: string | null
  caption?: unknown
  width?: unknown
  height?: unknown
  boxes?: unknown
  masks?: unknown
}
export interface HistogramMedia {
  _type: 'histogram'
  bins: number[]
  counts: number[]
}
export type MediaValue = StoredMedia | HistogramMedia
export interface MediaItem {
  job_id: string
  /** Only of jobs of several batches. */
  job_key?: string
  key: string
  step: number
  at: string
  values: MediaValue[]
}
export interface MediaWanted {
  keys: readonly string[]
  /** Without it, all jobs. */
  jobs?: readonly string[] | undefined
  from?: number | undefined
  to?: number | undefined
}

/** Reads the media of a batch, or of a share. */
export interface MediaSource {
  keys(signal?: AbortSignal): Promise<MediaKey[]>
  /** The steps that have media, ascending. */
  steps(wanted: Pick<MediaWanted, 'keys' | 'jobs'>, signal?: AbortSignal): Promise<number[]>
  /** Ordered by step; at most `MAX_ITEMS`. */
  items(wanted: MediaWanted, signal?: AbortSignal): Promise<MediaItem[]>
}

const PAGE = 500
/** A step of 1,000 jobs has as many items; a heat map of 2,000 steps looks the same as one of more. */
export const MAX_ITEMS = 2_000

/** @param of how the jobs are named in a request; undefined: all */
const sourceAt = (
  path: string,
  of: (jobs: readonly string[] | undefined) => Query = (jobs) => ({ job: jobs ?? [] }),
): MediaSource => ({
  keys: async (signal) => {
    const { job: _, ...all } = of(undefined)
    const { items } = await get<Page<MediaKey>>(`${path}/keys`, { ...all, limit: PAGE }, signal)
    return items
  },
  steps: async ({ keys, jobs }, signal) =>
    (await get<{ items: number[] }>(`${path}/steps`, { ...of(jobs), key: keys }, signal)).items,
  items: async ({ keys, jobs, from, to }, signal) => {
    const found: MediaItem[] = []
    for (let cursor: string | undefined; found.length < MAX_ITEMS; ) {
      const query = { ...of(jobs), key: keys, from, to, limit: PAGE, cursor }
      const page = await get<Page<MediaItem>>(path, query, signal)
      found.push(...page.items)
      if (page.next_cursor === null) break
      cursor = page.next_cursor
    }
    return found
  },
})

export const mediaOf = (batchId: string): MediaSource => sourceAt(`${batchAt(batchId)}/media`)
export const sharedMediaOf = (token: string): MediaSource =>
  sourceAt(`/api/shared/${encodeURIComponent(token)}/media`)
/** Of jobs of any batches, by their `key`. Values have it as `job_key`. */
export const jobsMediaOf = (keysOf: (jobs: readonly string[] | undefined) => string): MediaSource =>
  sourceAt('/api/jobs/media', (jobs) => ({ job_keys: keysOf(jobs) }))
/** The jobs among these that have media, all by their `key`. */
export const fetchJobsWithMedia = async (keys: string, signal?: AbortSignal): Promise<readonly string[]> =>
  (await get<{ job_keys: string[] }>('/api/jobs/media/keys', { job_keys: keys, limit: 1 }, signal)).job_keys
