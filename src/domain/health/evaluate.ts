import type { Evaluation as LivenessEvaluation } from '../agents/index.ts'
import { type Clock, type GpuSeen, isIdle, isStalled, lossBySilence, sinceMs } from '../liveness.ts'

/** Evaluates silence and idle GPUs of a batch, for reads and watchers alike. Pure. */

/** The marks of batches, jobs and agents. `batch_lost` was a mark before a lost batch had a status of its own. */
export type EpisodeKind = 'batch_stalled' | 'batch_lost' | 'job_idle' | 'agent_offline'

/** A mark, since when it holds, and the reason as a sentence. */
export interface Mark {
  since: string
  reason: string
}

export interface BatchSeen {
  status: string
  /** Its last sign of life, or the last receipt of an event if there never was one. */
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
  /**
   * The run has ended without an end event: `reason` explains its status; an event created after `until` shows that it
   * continues.
   */
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
    // A silent batch does not report its GPUs.
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
