import { canonicalInstant, showInstant } from '../../db/instant.ts'
import type { Db } from '../../db/sql.ts'
import { type Evaluation, livenessOf } from '../agents/index.ts'
import { aliveAt, heardAt } from '../batches/index.ts'
import { type Clock, isStalled, sinceMs } from '../liveness.ts'
import { evaluateMarks } from './evaluate.ts'
import { type GpuRow, gpuOf } from './gpu-row.ts'
import type { Health } from './health-fields.ts'

interface BatchRow extends GpuRow {
  key: number
  status: string
  failure_reason: string | null
  last_seen_at: string
  last_live_at: string | null
  last_received_at: string | null
  /** Those that run. */
  jobs: JobRow[]
}
/** From JSON: the times are PostgreSQL's. */
interface JobRow extends GpuRow {
  key: number
  id: string
  status: string
  started_at: string
}

const shown = (time: string): string => showInstant(canonicalInstant(time))
const withShownTimes = (gpu: GpuRow): GpuRow => ({
  ...gpu,
  gpu_first_at: gpu.gpu_first_at && shown(gpu.gpu_first_at),
  gpu_last_at: gpu.gpu_last_at && shown(gpu.gpu_last_at),
  gpu_busy_at: gpu.gpu_busy_at && shown(gpu.gpu_busy_at),
})

/** The most reasons about single jobs; `idle_jobs` has all of them. */
const MAX_JOBS_EXPLAINED = 20

/** The health of a batch. */
export async function healthOf(db: Db, batchKey: number, clock: Clock): Promise<Health> {
  const health = (await healthOfBatches(db, [batchKey], clock)).get(batchKey)
  if (health === undefined) throw new Error('the batch no longer exists')
  return health
}

/** The same of several batches, in as many statements. */
export async function healthOfBatches(
  db: Db,
  batchKeys: readonly number[],
  clock: Clock,
): Promise<Map<number, Health>> {
  const [batches, evaluations] = await Promise.all([
    db<BatchRow[]>`/* health.batch */
      select b.key, b.status, b.failure_reason, p.last_seen_at, p.last_live_at, p.last_received_at, p.gpu_first_at, p.gpu_last_at,
        p.gpu_busy_at, p.gpu_low_samples, j.jobs
      from unnest(${[...batchKeys]}::bigint[]) as u (batch_key)
      join batches b on b.key = u.batch_key join batch_progress p on p.batch_key = u.batch_key
      cross join lateral (
        select coalesce(json_agg(j order by j.key), '[]') jobs from (
          select j.key, j.id, j.status, j.started_at, p.gpu_first_at, p.gpu_last_at, p.gpu_busy_at, p.gpu_low_samples
          from jobs j join job_progress p on p.job_key = j.key
          where j.batch_key = u.batch_key and j.status = 'running') j) j`,
    livenessOf(db, [...batchKeys], clock),
  ])
  return new Map(batches.map((batch) => [batch.key, evaluated(batch, evaluations.get(batch.key), clock)]))
}

function evaluated(batch: BatchRow, evaluation: Evaluation | undefined, clock: Clock): Health {
  const { stalled, lost, idle } = evaluateMarks(
    {
      status: batch.status,
      aliveAt: aliveAt(batch),
      heardAt: heardAt(batch),
      gpu: gpuOf(batch),
    },
    batch.jobs.map((job) => ({ ...job, startedAt: shown(job.started_at), gpu: gpuOf(withShownTimes(job)) })),
    evaluation,
    clock,
  )
  const silentS = Math.floor(sinceMs(aliveAt(batch), clock.now) / 1000)
  const thresholdS = clock.stallTimeoutMin * 60

  const reasons: string[] = []
  if (batch.status === 'lost' && batch.failure_reason !== null) reasons.push(batch.failure_reason)
  // A silent batch is lost only once the watch has recorded it.
  if (stalled !== null) reasons.push(stalled.reason)
  else if (lost !== null && evaluation?.liveness !== 'dead') reasons.push(lost.reason)
  else if (batch.status === 'running' && silentS > thresholdS) {
    reasons.push(
      `No event for ${silentS} s; not evaluated yet, because the service itself has received events only since ${clock.startedAt.toISOString()}`,
    )
  }
  reasons.push(...(evaluation?.reasons ?? []))
  reasons.push(...idle.slice(0, MAX_JOBS_EXPLAINED).map((mark) => mark.reason))
  return {
    status: batch.status,
    stalled: isStalled({ status: batch.status, aliveAt: aliveAt(batch) }, clock),
    liveness: evaluation?.liveness ?? null,
    last_seen_at: batch.last_seen_at,
    silent_s: silentS,
    threshold_s: thresholdS,
    idle_jobs: idle.map((mark) => mark.jobId),
    reasons,
  }
}
