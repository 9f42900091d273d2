import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { AuditEntry } from '../audit.ts'
import type { Known } from '../caller.ts'
import type { Clock } from '../liveness.ts'
import { ending } from './ending.ts'
import { mayChange, type Sweep, trialRows, visibleSweep } from './reads.ts'
import { budgetOf, startOf } from './sweep.ts'
import { auditSweep, type Done, sweepChanges } from './trace.ts'
import type { Reserved } from './writes.ts'

export interface SweepChange {
  state?: 'running' | 'paused' | 'stopped' | undefined
  max_trials?: number | null | undefined
}

/**
 * Pauses, resumes, stops or extends a sweep. A stopped or finished sweep runs again, if it has trials left.
 * @returns events of its batch, sent in the name of its owner
 * @throws Problem sweep_not_found, forbidden; sweep_finished
 */
export async function changeSweep(
  tx: Tx,
  actor: Known,
  id: string,
  change: SweepChange,
  clock: Clock,
): Promise<Done<Pick<Reserved, 'batchEvents' | 'owner'>>> {
  const seen = await visibleSweep(tx, actor, id)
  if (!mayChange(actor, seen.batch)) throw new Problem('forbidden')
  // The batch first, as a stop does.
  await tx`/* sweeps.lock_batch */ select from batches where key = ${seen.batch.key} for no key update`
  await tx`/* sweeps.lock_to_change */ select from sweeps where id = ${id} for update`
  const sweep = await visibleSweep(tx, actor, id)
  const { batch, definition } = sweep
  const maxTrials = change.max_trials === undefined ? sweep.maxTrials : change.max_trials
  const budget = budgetOf(definition, maxTrials)
  const hasMore = budget === null || sweep.nextNumber < budget
  const over = sweep.state === 'stopped' || sweep.state === 'finished'
  const state = change.state ?? (sweep.state === 'finished' && hasMore ? 'running' : sweep.state)
  if (over && state === 'paused') throw new Problem('sweep_finished')
  if (sweep.state === 'finished' && (state === 'stopped' || (state === 'running' && !hasMore)))
    throw new Problem('sweep_finished')
  if (state === sweep.state && maxTrials === sweep.maxTrials)
    return { result: { batchEvents: [], owner: { id: batch.ownerId, role: 'user' } }, changes: [] }
  await tx`/* sweeps.change */
    update sweeps set state = ${state}, max_trials = ${maxTrials} where id = ${id}`
  const resumes = over && state === 'running'
  if (resumes) {
    await tx`/* sweeps.forget_stop */
      update batches set stop_requested_at = null, stop_requested_by = null where key = ${batch.key}`
  }
  for (const action of actionsOf(sweep, state, maxTrials)) {
    await auditSweep(tx, actor, { action, batch, sweep: id, detail: { max_trials: maxTrials } }, clock.now)
  }
  const start = startOf({ batchId: batch.id, project: batch.projectSlug, definition }, budget)
  const starts = resumes || (maxTrials !== sweep.maxTrials && state !== 'stopped') ? [start] : []
  const open = await trialRows(tx, sweep, { open: true })
  const ends = state === 'stopped' ? await ending(tx, { ...sweep, state }, open, clock) : []
  return {
    result: { batchEvents: [...starts, ...ends], owner: { id: batch.ownerId, role: 'user' } },
    changes: sweepChanges(batch),
  }
}

function actionsOf(sweep: Sweep, state: Sweep['state'], maxTrials: number | null): AuditEntry['action'][] {
  const actions: AuditEntry['action'][] = []
  if (maxTrials !== sweep.maxTrials) actions.push('sweep.extended')
  if (state === sweep.state) return actions
  if (state === 'running') actions.push('sweep.resumed')
  if (state === 'paused') actions.push('sweep.paused')
  if (state === 'stopped') actions.push('sweep.stopped')
  return actions
}
