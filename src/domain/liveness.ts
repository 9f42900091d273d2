/**
 * What is derived from silence and from idle GPUs (specification §3.1, §3.2; contract §7): marks that come and go with
 * the evidence, never states. Pure. Neither is judged in the first threshold after events could come in again, because
 * reporters may have been unable to reach any server before. What is read and what the watchers judge
 * (domain/health/watch.ts) both come from here.
 */
export interface Clock {
  now: Date
  /** Since when events could come in without a break: the start of the only server, or the end of an outage. */
  startedAt: Date
  stallTimeoutMin: number
  idleJobThresholdMin: number
}

/** Instants as text; null before any snapshot that shows a GPU. */
export interface GpuSeen {
  firstAt: string | null
  lastAt: string | null
  /** The last time utilisation was at 5% or more. */
  busyAt: string | null
}

const MINUTE_MS = 60_000

/** Milliseconds from an instant to now, never below 0: a clock ahead of ours is no silence. */
export const sinceMs = (instant: string, now: Date): number =>
  Math.max(0, now.getTime() - Date.parse(instant))

/** Could events come in for as long as the threshold? */
export const canJudge = (thresholdMin: number, clock: Clock): boolean =>
  clock.now.getTime() - clock.startedAt.getTime() >= thresholdMin * MINUTE_MS

/** Is a running batch silent for longer than the threshold? */
export function isStalled(batch: { status: string; lastSeenAt: string }, clock: Clock): boolean {
  return (
    batch.status === 'running' &&
    canJudge(clock.stallTimeoutMin, clock) &&
    sinceMs(batch.lastSeenAt, clock.now) > clock.stallTimeoutMin * MINUTE_MS
  )
}

/** Before this a running batch that was last seen then is silent for too long; null while nothing is judged. */
export const stalledBefore = (clock: Clock): Date | null => instantBefore(clock.stallTimeoutMin, clock)
/** Since before this a GPU must be below 5% for its job to be idle; null while nothing is judged. */
export const idleBefore = (clock: Clock): Date | null => instantBefore(clock.idleJobThresholdMin, clock)

const instantBefore = (thresholdMin: number, clock: Clock): Date | null =>
  canJudge(thresholdMin, clock) ? new Date(clock.now.getTime() - thresholdMin * MINUTE_MS) : null

/**
 * Was the GPU of a running job below 5% for the threshold? The job's own snapshots decide; a job without any is judged
 * by those of its batch, from its own start on.
 */
export function isIdle(
  job: { status: string; startedAt: string; gpu: GpuSeen },
  batchGpu: GpuSeen,
  clock: Clock,
): boolean {
  if (job.status !== 'running' || !canJudge(clock.idleJobThresholdMin, clock)) return false
  const gpu = job.gpu.lastAt === null ? batchGpu : job.gpu
  if (gpu.firstAt === null || gpu.lastAt === gpu.busyAt) return false
  const idleMs = Math.min(sinceMs(gpu.busyAt ?? gpu.firstAt, clock.now), sinceMs(job.startedAt, clock.now))
  return idleMs >= clock.idleJobThresholdMin * MINUTE_MS
}
