/**
 * Liveness, derived from silence and from idle GPUs (specification §3.1, §3.2; contract §7, §10 "Time", "Lost"). It
 * depends only on when events were received, never on the times that clients send. Pure. After an outage nothing is
 * evaluated for the length of the threshold, because reporters may have been unable to reach any server. Reads and the
 * watchers (domain/health/watch.ts) both use it.
 */
export interface Clock {
  now: Date
  /** Since when events could be received without a break: the start of the only server, or the end of an outage. */
  startedAt: Date
  stallTimeoutMin: number
  lostAfterMin: number
  idleJobThresholdMin: number
}

/** Instants as text; null before any snapshot that shows a GPU. */
export interface GpuSeen {
  firstAt: string | null
  lastAt: string | null
  /** The last time utilisation was at 5% or more. */
  busyAt: string | null
  /** Samples below 5% since then. */
  lowSamples: number
}

const MINUTE_MS = 60_000

/** Milliseconds since an instant, never below 0: a clock ahead of ours is no silence. */
export const sinceMs = (instant: string, now: Date): number =>
  Math.max(0, now.getTime() - Date.parse(instant))

/** Whether events could be received during the whole threshold. */
export const canEvaluate = (thresholdMin: number, clock: Clock): boolean =>
  clock.now.getTime() - clock.startedAt.getTime() >= thresholdMin * MINUTE_MS

/** Whether a running batch has been silent for longer than the threshold. */
export function isStalled(batch: { status: string; aliveAt: string }, clock: Clock): boolean {
  return (
    batch.status === 'running' &&
    canEvaluate(clock.stallTimeoutMin, clock) &&
    sinceMs(batch.aliveAt, clock.now) > clock.stallTimeoutMin * MINUTE_MS
  )
}

/** Whether nothing was heard for so long that what runs counts as lost. */
export const isSilent = (heardAt: string, clock: Clock): boolean =>
  canEvaluate(clock.lostAfterMin, clock) && sinceMs(heardAt, clock.now) > clock.lostAfterMin * MINUTE_MS

/**
 * Why a running batch is lost, as a sentence; null if it is not lost.
 * @param batch.heardAt its last sign of life, or the last receipt of an event if there never was one
 */
export function lossBySilence(batch: { status: string; heardAt: string }, clock: Clock): string | null {
  return batch.status === 'running' && isSilent(batch.heardAt, clock)
    ? `no events for ${silenceReason(sinceMs(batch.heardAt, clock.now))}`
    : null
}

const silenceReason = (ms: number): string =>
  ms < 2 * MINUTE_MS ? `${Math.floor(ms / 1000)} s` : `${Math.floor(ms / MINUTE_MS)} min`

/** A running batch that was last heard of before this time is lost; null while liveness is not evaluated. */
export const lostBefore = (clock: Clock): Date | null => instantBefore(clock.lostAfterMin, clock)
/** A running batch that was last seen before this time is stalled; null while liveness is not evaluated. */
export const stalledBefore = (clock: Clock): Date | null => instantBefore(clock.stallTimeoutMin, clock)
/** A job is idle if its GPU has been below 5% since before this time; null while liveness is not evaluated. */
export const idleBefore = (clock: Clock): Date | null => instantBefore(clock.idleJobThresholdMin, clock)

const instantBefore = (thresholdMin: number, clock: Clock): Date | null =>
  canEvaluate(thresholdMin, clock) ? new Date(clock.now.getTime() - thresholdMin * MINUTE_MS) : null

/** Fewer samples are not enough evidence: one sample and then silence is not idle. */
export const MIN_LOW_SAMPLES = 5

/**
 * Whether the GPU of a running job has been below 5% for the threshold, and samples still show it. The job's own
 * snapshots count; a job without any is evaluated by those of its batch, from its own start on.
 */
export function isIdle(
  job: { status: string; startedAt: string; gpu: GpuSeen },
  batchGpu: GpuSeen,
  clock: Clock,
): boolean {
  if (job.status !== 'running' || !canEvaluate(clock.idleJobThresholdMin, clock)) return false
  const gpu = job.gpu.lastAt === null ? batchGpu : job.gpu
  if (gpu.firstAt === null || gpu.lastAt === gpu.busyAt) return false
  if (gpu.lowSamples < MIN_LOW_SAMPLES) return false
  if (gpu.lastAt === null || sinceMs(gpu.lastAt, clock.now) > (clock.idleJobThresholdMin * MINUTE_MS) / 2)
    return false
  const idleMs = Math.min(sinceMs(gpu.busyAt ?? gpu.firstAt, clock.now), sinceMs(job.startedAt, clock.now))
  return idleMs >= clock.idleJobThresholdMin * MINUTE_MS
}
