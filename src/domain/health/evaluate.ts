import type { Evaluation as LivenessEvaluation } from '../agents/index.ts'
import { type Clock, type GpuSeen, isIdle, isStalled, lossBySilence, sinceMs } from '../liveness.ts'

/** What silence and idle GPUs say of a batch, judged in one place for reads and watchers. Pure. */

/** Of batches, jobs and agents. `batch_lost` was a mark before a lost batch had a status of its own. */
export type EpisodeKind = 'batch_stalled' | 'batch_lost' | 'job_idle' | 'agent_offline'

/** A mark, since when its evidence holds, and the evidence as a sentence. */
export interface Mark {
  since: string
  reason: string
}

export interface BatchSeen {
  status: string
  /** Its last sign of life, and the last receipt of an event where it never showed any. */
  aliveAt: string
  heardAt: string
  gpu: GpuSeen
}

export interface JobSeen {
  key: number
  id: string
  status: string
  startedAt: string
  gpu: GpuSeen
}

export interface Marks {
  stalled: Mark | null
  /** Its run has ended without an event that says so: `reason` is what its status is explained by, and what was
   * made after `until` shows that it is not. */
  lost: (Mark & { until: string }) | null
  idle: (Mark & { jobKey: number; jobId: string })[]
}

export function evaluateMarks(
  batch: BatchSeen,
  jobs: readonly JobSeen[],
  liveness: LivenessEvaluation | undefined,
  clock: Clock,
): Marks {
  const since = batch.aliveAt
  const dead = liveness?.liveness === 'dead'
  const reason = dead ? liveness.reasons.join('; ') : lossBySilence(batch, clock)
  return {
    stalled:
      reason === null && isStalled(batch, clock) ? { since, reason: silenceReason(since, clock) } : null,
    lost: reason === null ? null : { since, reason, until: dead ? clock.now.toISOString() : batch.heardAt },
    // A batch that is silent says nothing of its GPUs.
    idle: (reason !== null || isStalled(batch, clock) ? [] : jobs)
      .filter((job) => isIdle(job, batch.gpu, clock))
      .map((job) => {
        const gpu = job.gpu.lastAt === null ? batch.gpu : job.gpu
        const idleSince = gpu.busyAt ?? gpu.firstAt ?? job.startedAt
        return {
          jobKey: job.key,
          jobId: job.id,
          since: idleSince,
          reason: `Job ${job.id}: GPU below 5% since ${idleSince}`,
        }
      }),
  }
}

const silenceReason = (since: string, clock: Clock): string =>
  `No event since ${since}: ${Math.floor(sinceMs(since, clock.now) / 1000)} s, and ${clock.stallTimeoutMin * 60} s are allowed`
