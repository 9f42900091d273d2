import type { JobStatus } from '../batches/index.ts'
import { elapsedS } from '../batches/index.ts'
import { writeNumber } from '../events/index.ts'
import { type Clock, isIdle } from '../liveness.ts'

/** A job as `jobColumns` reads it. */
export interface JobRow {
  key: number
  batch_key: number
  batch_id: string
  id: string
  status: JobStatus
  model: string | null
  dataset: string | null
  params: Record<string, unknown>
  metrics: Record<string, unknown>
  started_at: string
  ended_at: string | null
  last_seen_at: string
  reported_s: number | null
  failure_reason: string | null
  epochs: number
  max_epoch: number | null
  series: string[]
  last_value: number[]
  gpu_first_at: string | null
  gpu_last_at: string | null
  gpu_busy_at: string | null
  batch_gpu_first_at: string | null
  batch_gpu_last_at: string | null
  batch_gpu_busy_at: string | null
}

/** A job on the wire (contract §4). Numbers that JSON cannot write are "NaN", "Infinity", "-Infinity". */
export interface JobView {
  batch_id: string
  id: string
  key: string
  status: JobStatus
  model: string | null
  dataset: string | null
  params: Record<string, unknown>
  started_at: string
  ended_at: string | null
  elapsed_s: number | string
  epochs: number
  latest: { epoch: number | null } & Record<string, number | string | null>
  metrics: Record<string, unknown>
  failure_reason: string | null
  idle: boolean
  eta_s: number | null
}

/** The one form of a job for REST and GraphQL. Pure. */
export function jobView(row: JobRow, clock: Clock, extras: { etaS: number | null }): JobView {
  return {
    batch_id: row.batch_id,
    id: row.id,
    key: String(row.key),
    status: row.status,
    model: row.model,
    dataset: row.dataset,
    params: row.params,
    started_at: row.started_at,
    ended_at: row.ended_at,
    elapsed_s: row.reported_s === null ? elapsedS(row, clock.now) : writeNumber(row.reported_s),
    epochs: row.epochs,
    latest: latestOf(row),
    metrics: row.metrics,
    failure_reason: row.failure_reason,
    idle: isIdle(
      {
        status: row.status,
        startedAt: row.started_at,
        gpu: { firstAt: row.gpu_first_at, lastAt: row.gpu_last_at, busyAt: row.gpu_busy_at },
      },
      { firstAt: row.batch_gpu_first_at, lastAt: row.batch_gpu_last_at, busyAt: row.batch_gpu_busy_at },
      clock,
    ),
    eta_s: extras.etaS,
  }
}

/** The highest epoch, and each series' last value. */
function latestOf(row: JobRow): JobView['latest'] {
  // Without a prototype, so that `__proto__` is a series like any other.
  const latest: JobView['latest'] = Object.assign(Object.create(null), { epoch: row.max_epoch })
  for (const [n, name] of row.series.entries()) latest[name] = writeNumber(row.last_value[n] as number)
  return latest
}
