import type { Batch, Job } from '../api/types.ts'
import { createRowStore } from './row-store.ts'

/** All batches that any page has read, kept fresh by whatever channel speaks of them. */
export const batchStore = createRowStore<Batch>(
  (batch) => batch.id,
  (old, fresh) => {
    // An answer may overtake a message that was told after it was read: the later sign of life wins.
    const newer = fresh.last_seen_at < old.last_seen_at ? old : fresh
    // Who may do what is not on the stream; an end takes the right to stop away, which the next read settles.
    const can = fresh.can ?? (old.can && { ...old.can, stop: old.can.stop && newer.status === 'running' })
    return { ...newer, can }
  },
)

export const createJobStore = () =>
  createRowStore<Job>(
    (job) => job.id,
    (old, fresh) =>
      old.epochs > fresh.epochs || (old.ended_at !== null && fresh.ended_at === null) ? old : fresh,
  )
export type JobStore = ReturnType<typeof createJobStore>
