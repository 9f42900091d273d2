import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Known } from '../caller.ts'
import type { Clock } from '../liveness.ts'
import { forgetStop, lockedSweep, restartOf } from './change.ts'
import { type Sweep, trialRows } from './reads.ts'
import { auditSweep, type Done, sweepChanges } from './trace.ts'
import type { Reserved } from './writes.ts'

/** Trials that a person wants next: failed ones once more, or the parameters of one with other seeds. */
export type Wanted = { failed: true } | { trial: number; seeds: readonly number[]; seedName: string }

/** The most failed trials that are queued at once. */
const MAX_QUEUED = 10_000

/**
 * Queues trials: the next workers get them before new ones. A stopped or finished sweep runs again for them.
 * @throws Problem sweep_not_found, forbidden; trial_not_found; nothing_to_queue
 */
export async function queueTrials(
  tx: Tx,
  actor: Known,
  id: string,
  wanted: Wanted,
  clock: Clock,
): Promise<Done<Pick<Reserved, 'batchEvents' | 'owner'> & { numbers: number[] }>> {
  const sweep = await lockedSweep(tx, actor, id)
  const { batch } = sweep
  const numbers =
    'failed' in wanted
      ? await queueFailed(tx, sweep, clock.now)
      : await addSeeds(tx, sweep, wanted, clock.now)
  if (numbers.length === 0) throw new Problem('nothing_to_queue')
  const over = sweep.state === 'stopped' || sweep.state === 'finished'
  if (over) {
    await tx`/* sweeps.run_again */ update sweeps set state = 'running' where id = ${id}`
    await forgetStop(tx, sweep)
  }
  const detail =
    'failed' in wanted ? { failed: numbers.length } : { trial: wanted.trial, seeds: numbers.length }
  await auditSweep(tx, actor, { action: 'sweep.queued', batch, sweep: id, detail }, clock.now)
  const added = 'failed' in wanted ? 0 : numbers.length
  const next = { ...sweep, extra: sweep.extra + added, nextNumber: sweep.nextNumber + added }
  return {
    result: { numbers, batchEvents: [restartOf(next)], owner: { id: batch.ownerId, role: 'user' } },
    changes: sweepChanges(batch),
  }
}

async function queueFailed(tx: Tx, sweep: Sweep, now: Date): Promise<number[]> {
  const rows = await tx<{ number: number }[]>`/* sweeps.queue_failed */
    with found as (
      select t.number, j.ended_at from sweep_trials t
      join jobs j on j.batch_key = ${sweep.batch.key} and j.id = t.job_id
      where t.sweep_id = ${sweep.id} and not t.queued and j.status = 'failed'
        and j.ended_at is distinct from t.prior_end
      order by t.number limit ${MAX_QUEUED}),
    next as (
      update sweeps set changes = changes + 1 where id = ${sweep.id} and exists (select from found) returning changes)
    update sweep_trials t set queued = true, settled = false, released = false, ask_id = null, worker = '',
      lease_s = null, renewed_at = null, prior_end = found.ended_at, reserved_at = ${instantOf(now)},
      changed = next.changes
    from found, next where t.sweep_id = ${sweep.id} and t.number = found.number
    returning t.number`
  return rows.map(({ number }) => number).sort((a, b) => a - b)
}

async function addSeeds(
  tx: Tx,
  sweep: Sweep,
  { trial, seeds, seedName }: Exclude<Wanted, { failed: true }>,
  now: Date,
): Promise<number[]> {
  const [row] = await trialRows(tx, sweep, { limit: 1, before: trial + 1, changedAfter: undefined })
  if (row === undefined || row.number !== trial) throw new Problem('trial_not_found')
  const first = sweep.nextNumber
  const params = seeds.map((seed) => ({ ...row.params, [seedName]: seed }))
  await tx`/* sweeps.add_seeds */
    with next as (
      update sweeps set next_number = next_number + ${seeds.length}::int, extra = extra + ${seeds.length}::int,
        changes = changes + 1 where id = ${sweep.id} returning changes),
    made as (
      select n - 1 + ${first}::int number, params
      from jsonb_array_elements(${JSON.stringify(params)}::text::jsonb) with ordinality x (params, n))
    insert into sweep_trials (sweep_id, number, job_id, params, worker, queued, handed_out, reserved_at, changed)
    select ${sweep.id}, made.number, 'trial-' || made.number, made.params, '', true, 0, ${instantOf(now)}, next.changes
    from made, next`
  return seeds.map((_, i) => first + i)
}
