import type { Batch, Job, Numeric } from '../api/types.ts'
import { createRowStore } from './row-store.ts'

/** All batches that any page has read, kept up to date by all channels that mention them. */
export const batchStore = createRowStore<Batch>(
  (batch) => batch.id,
  (old, told) => {
    const fresh = { ...told, told_at: told.told_at ?? Date.now() }
    if (old === undefined) return fresh
    // An answer may overtake a message that was told after it was read: the later sign of life wins.
    const newer = fresh.last_seen_at < old.last_seen_at ? old : fresh
    // Who may do what is not on the stream; an end takes the right to stop away, which the next read settles.
    const can =
      fresh.can ??
      (old.can && { ...old.can, stop: old.can.stop && ['running', 'lost'].includes(newer.status) })
    // Lists leave these out; what was read of the batch itself stays until the next message about it.
    const self =
      newer.config === undefined
        ? { config: old.config, summary: old.summary, traceback: old.traceback }
        : undefined
    return { ...newer, ...self, ...(can !== undefined && { can }) }
  },
)

/** Seconds that it runs, or ran: what the service told, whose clock decides, and the time since then. */
export const elapsedOf = (batch: Batch, now: number): Numeric =>
  batch.status === 'running' && typeof batch.elapsed_s === 'number'
    ? batch.elapsed_s + Math.max(0, now - (batch.told_at ?? now)) / 1000
    : batch.elapsed_s
/** When it is expected to end: what was estimated counts from when it was told. Milliseconds; null without. */
export const endOf = (batch: Batch): number | null =>
  batch.status !== 'running' || batch.eta_s === null
    ? null
    : (batch.told_at ?? Date.now()) + batch.eta_s * 1000

export const createJobStore = () =>
  createRowStore<Job>(
    (job) => job.id,
    (old, fresh) =>
      old !== undefined && (old.epochs > fresh.epochs || (old.ended_at !== null && fresh.ended_at === null))
        ? old
        : fresh,
  )
export type JobStore = ReturnType<typeof createJobStore>
