import type { Batch, Job } from '../api/batches.ts'
import type { Numeric } from '../api/wire-row.ts'
import { createRowStore } from './row-store.ts'

/** All batches that a page has read, kept up to date by every channel that reports them. */
export const batchStore = createRowStore<Batch>(
  (batch) => batch.id,
  (old, received) => {
    const fresh = { ...received, received_ms: received.received_ms ?? Date.now() }
    if (old === undefined) return fresh
    const newer = isBefore(fresh, old) ? old : fresh
    // Messages have no rights. A batch that has ended cannot be stopped; the next read brings its rights.
    const can =
      fresh.can ??
      (old.can && { ...old.can, stop: old.can.stop && ['running', 'lost'].includes(newer.status) })
    // Lists omit these fields: keep them from the read of the batch until its next message.
    const self =
      newer.config === undefined
        ? { config: old.config, summary: old.summary, traceback: old.traceback }
        : undefined
    return { ...newer, ...self, ...(can !== undefined && { can }) }
  },
)

/**
 * Whether a row is older than the known one, as an answer that arrives after a message is. Every event sets the time of
 * receipt; the time of the last event stays the same after an event of equal or earlier time.
 */
const isBefore = (fresh: Batch, old: Batch): boolean =>
  fresh.last_seen_at < old.last_seen_at ||
  (fresh.last_received_at != null &&
    old.last_received_at != null &&
    fresh.last_received_at < old.last_received_at)

/** Duration in seconds: as the service reported it, by its clock, plus the time since then while the batch runs. */
export const elapsedOf = (batch: Batch, now: number): Numeric =>
  batch.status === 'running' && typeof batch.elapsed_s === 'number'
    ? batch.elapsed_s + Math.max(0, now - (batch.received_ms ?? now)) / 1000
    : batch.elapsed_s
/** ETA as Unix time in milliseconds: the estimate counts from when it was received. Null without one. */
export const endOf = (batch: Batch): number | null =>
  batch.status !== 'running' || batch.eta_s === null
    ? null
    : (batch.received_ms ?? Date.now()) + batch.eta_s * 1000

/** A lost job may report again. */
const hasEnded = ({ status, ended_at }: Job): boolean => ended_at !== null && status !== 'lost'

export const createJobStore = () =>
  createRowStore<Job>(
    (job) => job.id,
    (old, fresh) =>
      old !== undefined && (old.epochs > fresh.epochs || (hasEnded(old) && !hasEnded(fresh))) ? old : fresh,
  )
export type JobStore = ReturnType<typeof createJobStore>
