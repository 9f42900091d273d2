import type { Db, Tx } from '../../db/sql.ts'
import { isOpen } from '../access.ts'
import { STOP_REASON } from '../batches/index.ts'
import type { Clock } from '../liveness.ts'
import { type Sweep, stateOf, type TrialRow, trialRows } from './reads.ts'
import { type Definition, hasMore, type SweepEvent, type SweepState } from './sweep.ts'

/** What the end of a sweep depends on. */
type Ending = Omit<Sweep, 'batch' | 'createdAt' | 'createdBy'> & {
  batch: Pick<Sweep['batch'], 'id' | 'key' | 'projectSlug' | 'status'>
}

/**
 * The event that ends the batch of a sweep: all its trials have ended and no more will be handed out. Records that it
 * is finished.
 * @param open its trials that have not been settled
 * @returns nothing while a trial runs
 */
export async function ending(
  tx: Tx,
  sweep: Ending,
  open: readonly TrialRow[],
  clock: Clock,
): Promise<SweepEvent[]> {
  const { batch } = sweep
  const goesOn = sweep.state === 'running' || sweep.state === 'paused'
  if (goesOn && hasMore(sweep)) return []
  // A lost or queued trial of a sweep that goes on will be handed out.
  const unfinished = goesOn ? ['running', 'lost', 'queued'] : ['running']
  if (open.some((row) => unfinished.includes(stateOf(row, clock)))) return []
  if (goesOn) await tx`/* sweeps.finish */ update sweeps set state = 'finished' where id = ${sweep.id}`
  if (!isOpen(batch)) return []
  const [counts] = await tx<{ n_done: number; n_failed: number; elapsed_s: number }[]>`/* sweeps.counts */
    select (select count(*)::int from jobs j where j.batch_key = ${batch.key} and j.status = 'completed') n_done,
      (select count(*)::int from jobs j where j.batch_key = ${batch.key} and j.status = 'failed') n_failed,
      greatest(0, extract(epoch from ${clock.now.toISOString()}::timestamptz - b.started_at))::float8 elapsed_s
    from batches b where b.key = ${batch.key}`
  if (counts === undefined) return []
  const event = { batch_id: batch.id, job_id: null, project: batch.projectSlug }
  const total_elapsed_s = counts.elapsed_s
  return sweep.state === 'stopped'
    ? [{ ...event, event_type: 'batch_failed', data: { reason: STOP_REASON, total_elapsed_s } }]
    : [
        {
          ...event,
          event_type: 'batch_done',
          data: { n_done: counts.n_done, n_failed: counts.n_failed, total_elapsed_s },
        },
      ]
}

/** Sweeps whose batch runs although no trial is left to hand out: candidates for `endSweep`. */
export async function sweepsDue(db: Db): Promise<string[]> {
  const rows = await db<{ id: string }[]>`/* sweeps.due */
    select s.id from sweeps s join batches b on b.key = s.batch_key
    where s.state <> 'paused' and b.status in ('running', 'lost') and b.deleted_at is null
      and (s.state <> 'running' or s.next_number >= s.max_trials or s.definition ->> 'method' = 'grid')
    order by s.batch_key limit 1000`
  return rows.map(({ id }) => id)
}

/** Ends the batch of the sweep if all its trials have ended. @returns the event, and whose it is */
export async function endSweep(
  tx: Tx,
  id: string,
  clock: Clock,
): Promise<{ owner: { id: string; role: 'user' }; events: SweepEvent[] } | undefined> {
  const [row] = await tx<
    {
      definition: Definition
      state: SweepState
      max_trials: number | null
      next_number: number
      extra: number
      space_start: number
      key: number
      batch_id: string
      status: string
      slug: string
      owner_id: string
    }[]
  >`/* sweeps.lock_to_end */
    select s.definition, s.state, s.max_trials, s.next_number, s.extra, s.space_start, b.key, b.id batch_id, b.status, p.slug, b.owner_id
    from sweeps s join batches b on b.key = s.batch_key join projects p on p.key = b.project_key
    where s.id = ${id} for update of s`
  if (row === undefined) return undefined
  const sweep: Ending = {
    id,
    definition: row.definition,
    state: row.state,
    maxTrials: row.max_trials,
    nextNumber: row.next_number,
    extra: row.extra,
    spaceStart: row.space_start,
    batch: { id: row.batch_id, key: row.key, projectSlug: row.slug, status: row.status },
  }
  const events = await ending(tx, sweep, await trialRows(tx, sweep, { open: true }), clock)
  return { owner: { id: row.owner_id, role: 'user' }, events }
}
