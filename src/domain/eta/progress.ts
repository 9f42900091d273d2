import type { Db } from '../../db/sql.ts'
import { PLANNED_PARAMS, plannedLengths } from './planned.ts'

/** The counts of a batch that its progress depends on. */
export interface Counted {
  key: number
  status: string
  n_total: number | null
  n_jobs: number
  n_completed: number
  n_failed: number
  n_stopped: number
}

/** For batches with more unfinished jobs only jobs are counted: one epoch makes no visible difference there. */
const MAX_UNFINISHED = 16

const finished = (b: Counted): number => b.n_completed + b.n_failed + b.n_stopped

/**
 * The progress of each batch, 0 to 1, by batch key: its finished jobs, and the share of planned epochs of the others;
 * absent if the number of jobs is not known.
 */
export async function progressOf(db: Db, batches: readonly Counted[]): Promise<Map<number, number>> {
  const counted = batches.filter((b) => Math.max(b.n_total ?? 0, b.n_jobs) > 0)
  const keys = counted
    .filter(
      (b) =>
        b.status !== 'completed' && b.n_jobs > b.n_completed && b.n_jobs - b.n_completed <= MAX_UNFINISHED,
    )
    .map((b) => b.key)
  const shares = keys.length === 0 ? new Map<number, number>() : await unfinishedShares(db, keys)
  return new Map(
    counted.flatMap((b) => {
      const share = shares.get(b.key)
      if ((b.n_total ?? 0) === 0 && share === undefined) return []
      // While other jobs run, failed jobs count as finished; after the end of the batch they count as far as
      // they came.
      const over = b.status !== 'running' && share !== undefined
      const done = over ? b.n_completed : finished(b)
      return [[b.key, Math.min(1, (done + (share ?? 0)) / Math.max(b.n_total ?? 0, b.n_jobs))]]
    }),
  )
}

/** By batch key, the sum over jobs that have not completed; absent if none of them has planned epochs. */
async function unfinishedShares(db: Db, keys: number[]): Promise<Map<number, number>> {
  const rows = await db<
    {
      key: number
      running: boolean
      ended: boolean
      epochs: number
      last: number | null
      step_unit: string | null
      planned: Record<string, unknown>
    }[]
  >`/* eta.progress */
    select b.key, j.status = 'running' running, b.status <> 'running' ended, p.epochs,
      coalesce(p.max_step, p.max_epoch) last, j.step_unit,
      (select jsonb_object_agg(n, j.params -> n) from unnest(${[...PLANNED_PARAMS]}::text[]) n where j.params ? n) planned
    from batches b join jobs j on j.batch_key = b.key join job_progress p on p.job_key = j.key
    where b.key = any (${keys}::bigint[]) and j.status <> 'completed' and j.params ?| ${[...PLANNED_PARAMS]}::text[]`
  const shares = new Map<number, number>()
  for (const { key, running, ended, epochs, last, step_unit, planned } of rows) {
    const lengths = plannedLengths(planned, step_unit)
    const plan = lengths.find(({ length }) => length >= (last ?? 0)) ?? lengths[0]
    if (plan === undefined || !(running || ended)) continue
    // Not every step is logged.
    const reached = plan.inEpochs ? epochs : (last ?? 0)
    shares.set(key, (shares.get(key) ?? 0) + Math.min(1, Math.max(0, reached / plan.length)))
  }
  return shares
}
