import type { Db } from '../../db/sql.ts'
import { type Liveness, livenessOf } from '../agents/index.ts'
import { type Clock, isIdle, isStalled, sinceMs } from '../liveness.ts'

/** Whether a batch shows signs of life, and why not (specification §3.1, §3.2; contract §4). */
export interface Health {
  status: string
  stalled: boolean
  /** From its process, its events and the pace of its epochs; null once it is over. */
  liveness: Liveness | null
  lastSeenAt: string
  silentS: number
  thresholdS: number
  idleJobs: string[]
  /** A sentence for each mark, and for a judgement that is still held back. */
  reasons: string[]
}

interface BatchRow {
  status: string
  last_seen_at: string
  gpu_first_at: string | null
  gpu_last_at: string | null
  gpu_busy_at: string | null
}
interface JobRow extends Omit<BatchRow, 'last_seen_at'> {
  id: string
  started_at: string
}

/** Reasons about single jobs that are told; `idleJobs` names all of them. */
const MOST_JOBS_EXPLAINED = 20

export async function healthOf(db: Db, batchKey: number, clock: Clock): Promise<Health> {
  const [[batch], jobs, verdicts] = await Promise.all([
    db<BatchRow[]>`/* health.batch */
      select b.status, p.last_seen_at, p.gpu_first_at, p.gpu_last_at, p.gpu_busy_at
      from batches b join batch_progress p on p.batch_key = b.key where b.key = ${batchKey}`,
    db<JobRow[]>`/* health.jobs */
      select j.id, j.status, j.started_at, p.gpu_first_at, p.gpu_last_at, p.gpu_busy_at
      from jobs j join job_progress p on p.job_key = j.key
      where j.batch_key = ${batchKey} and j.status = 'running' order by j.key`,
    livenessOf(db, [batchKey], clock),
  ])
  if (batch === undefined) throw new Error('the batch is gone')
  const batchGpu = gpuOf(batch)
  const stalled = isStalled({ status: batch.status, lastSeenAt: batch.last_seen_at }, clock)
  const idle = jobs.filter((job) =>
    isIdle({ status: job.status, startedAt: job.started_at, gpu: gpuOf(job) }, batchGpu, clock),
  )
  const silentS = Math.floor(sinceMs(batch.last_seen_at, clock.now) / 1000)
  const thresholdS = clock.stallTimeoutMin * 60

  const reasons: string[] = []
  if (stalled)
    reasons.push(`No event since ${batch.last_seen_at}: ${silentS} s, and ${thresholdS} s are allowed`)
  else if (batch.status === 'running' && silentS > thresholdS) {
    reasons.push(
      `Silent for ${silentS} s, not judged yet: this server started at ${clock.startedAt.toISOString()}`,
    )
  }
  const verdict = verdicts.get(batchKey)
  reasons.push(...(verdict?.reasons ?? []))
  for (const job of idle.slice(0, MOST_JOBS_EXPLAINED)) {
    const gpu = job.gpu_last_at === null ? batchGpu : gpuOf(job)
    reasons.push(`Job ${job.id}: GPU below 5% since ${gpu.busyAt ?? gpu.firstAt}`)
  }
  return {
    status: batch.status,
    stalled,
    liveness: verdict?.liveness ?? null,
    lastSeenAt: batch.last_seen_at,
    silentS,
    thresholdS,
    idleJobs: idle.map((job) => job.id),
    reasons,
  }
}

const gpuOf = (row: Omit<BatchRow, 'last_seen_at'>) => ({
  firstAt: row.gpu_first_at,
  lastAt: row.gpu_last_at,
  busyAt: row.gpu_busy_at,
})
