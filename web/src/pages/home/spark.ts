import type { Numeric } from '../../lib/api/wire-row.ts'
import { LOSSES } from '../../lib/main-series.ts'

/** The last values of one job's loss. */
export interface Spark {
  job: string
  key: string
  values: readonly number[]
  /** By other jobs, their values since this job's last one. */
  others?: ReadonlyMap<string, readonly number[]>
}
interface Point {
  job_id: string
  values: Record<string, Numeric>
}

export const MAX_POINTS = 96
/** Another job that reports this often while this one is silent takes its place: jobs in parallel report in turns. */
const TURNS = 3
const MAX_OTHERS = 50

/** The curve with points that arrived. It stays with its job until the job is silent while another one reports. */
export function withPoints(spark: Spark | null, points: readonly Point[]): Spark | null {
  let now = spark
  for (const { job_id: job, values: given } of points) {
    const key = now?.key ?? LOSSES.find((one) => given[one] !== undefined)
    const value = key === undefined ? undefined : given[key]
    if (key === undefined || value === undefined) continue
    const before = now === null || now.job === job ? (now?.values ?? []) : (now.others?.get(job) ?? [])
    const values = [...before, Number(value)].slice(-MAX_POINTS)
    if (now === null || now.job === job || values.length >= TURNS) now = { job, key, values }
    else if ((now.others?.size ?? 0) < MAX_OTHERS)
      now = { ...now, others: new Map(now.others).set(job, values) }
  }
  return now
}
