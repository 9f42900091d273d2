import { beforeRead } from '../live/read-cursors.ts'
import { batchAt } from './batch-parts.ts'
import { get, getBytes, type Query, withQuery } from './request.ts'
import { readSeriesFrames, SERIES_FRAMES, type Series } from './series-frames.ts'
import type { Numeric } from './wire-row.ts'

export interface SeriesGroup {
  group: string | null
  key: string
  jobs: number
  /** The first and last epoch, or second, of each bucket. */
  steps: number[]
  ends: number[]
  mean: Numeric[]
  std: Numeric[]
  min: Numeric[]
  max: Numeric[]
  n: number[]
  total_points: number
  non_finite: number
}
export interface SeriesClip {
  low: Numeric | null
  high: Numeric | null
  /** Points outside the range. */
  hidden: number
}
export interface LogLine {
  db_id: number
  timestamp: string
  job_id: string
  level: string
  /** Null for lines that were not printed. */
  stream: 'stdout' | 'stderr' | null
  line: string
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
export const NO_CLIP: SeriesClip = { low: null, high: null, hidden: 0 }
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
