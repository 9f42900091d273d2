import { isDeepStrictEqual } from 'node:util'
import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { AuditEntry } from '../audit.ts'
import type { Known } from '../caller.ts'
import type { Clock } from '../liveness.ts'
import { ending } from './ending.ts'
import { mayChange, type Sweep, trialRows, visibleSweep } from './reads.ts'
import { type Space, spaceFaults } from './space.ts'
import { hasMore, proposedBy, startOf, totalOf } from './sweep.ts'
import { auditSweep, type Done, sweepChanges } from './trace.ts'
import { type Reserved, refuse } from './writes.ts'

export interface SweepChange {
  state?: 'running' | 'paused' | 'stopped' | undefined
  max_trials?: number | null | undefined
  parameters?: Space | undefined
}

type Events = Pick<Reserved, 'batchEvents' | 'owner'>

/**
 * The sweep, locked for a change by this caller.
 * @throws Problem sweep_not_found, forbidden
 */
export async function lockedSweep(tx: Tx, actor: Known, id: string): Promise<Sweep> {
  const seen = await visibleSweep(tx, actor, id)
  if (!mayChange(actor, seen.batch)) throw new Problem('forbidden')
  // The batch first, as a stop does.
  await tx`/* sweeps.lock_batch */ select from batches where key = ${seen.batch.key} for no key update`
  await tx`/* sweeps.lock_to_change */ select from sweeps where id = ${id} for update`
  return visibleSweep(tx, actor, id)
}

/**
 * Pauses, resumes, stops, extends or edits a sweep. A stopped or finished sweep runs again, if it has trials left.
 * @returns events of its batch, sent in the name of its owner
 * @throws Problem sweep_not_found, forbidden; sweep_finished; invalid_body
 */
export async function changeSweep(
  tx: Tx,
  actor: Known,
  id: string,
  change: SweepChange,
  clock: Clock,
): Promise<Done<Events>> {
  const sweep = await lockedSweep(tx, actor, id)
  const { batch } = sweep
  const next = await edited(tx, actor, sweep, change, clock.now)
  const more = hasMore(next)
  const over = sweep.state === 'stopped' || sweep.state === 'finished'
  const state = change.state ?? (sweep.state === 'finished' && more ? 'running' : sweep.state)
  if (over && state === 'paused') throw new Problem('sweep_finished')
  if (sweep.state === 'finished' && (state === 'stopped' || (state === 'running' && !more)))
    throw new Problem('sweep_finished')
  const isSame = next === sweep && state === sweep.state
  if (isSame) return { result: { batchEvents: [], owner: { id: batch.ownerId, role: 'user' } }, changes: [] }
  await tx`/* sweeps.change */
    update sweeps set state = ${state}, max_trials = ${next.maxTrials}, space_start = ${next.spaceStart},
      definition = ${JSON.stringify(next.definition)}::text::jsonb
    where id = ${id}`
  const resumes = over && state === 'running'
  if (resumes) await forgetStop(tx, sweep)
  for (const action of actionsOf(sweep, next, state)) {
    await auditSweep(
      tx,
      actor,
      { action, batch, sweep: id, detail: { max_trials: next.maxTrials } },
      clock.now,
    )
  }
  const starts = resumes || (totalOf(next) !== totalOf(sweep) && state !== 'stopped') ? [restartOf(next)] : []
  const open = await trialRows(tx, sweep, { open: true })
  const ends = state === 'stopped' ? await ending(tx, { ...next, state }, open, clock) : []
  return {
    result: { batchEvents: [...starts, ...ends], owner: { id: batch.ownerId, role: 'user' } },
    changes: sweepChanges(batch),
  }
}

/** The start of its batch once more: it has another length, or runs again. */
export const restartOf = (sweep: Sweep) =>
  startOf(
    { batchId: sweep.batch.id, project: sweep.batch.projectSlug, definition: sweep.definition },
    totalOf(sweep),
  )

export async function forgetStop(tx: Tx, { batch }: Sweep): Promise<void> {
  await tx`/* sweeps.forget_stop */
    update batches set stop_requested_at = null, stop_requested_by = null where key = ${batch.key}`
}

/** The sweep with the new limit and space; the same object if neither changes. Keeps the space that it had before. */
async function edited(
  tx: Tx,
  actor: Known,
  sweep: Sweep,
  { max_trials: limit, parameters }: SweepChange,
  now: Date,
): Promise<Sweep> {
  const maxTrials = limit === undefined ? sweep.maxTrials : limit
  const extended = maxTrials === sweep.maxTrials ? sweep : { ...sweep, maxTrials }
  const { definition } = sweep
  if (parameters === undefined || isDeepStrictEqual(parameters, definition.parameters)) return extended
  refuse(spaceFaults(parameters, definition.method))
  await tx`/* sweeps.keep_space */
    insert into sweep_edits (sweep_id, from_number, parameters, edited_by, edited_at)
    values (${sweep.id}, ${sweep.nextNumber}, ${JSON.stringify(definition.parameters)}::text::jsonb,
      ${actor.user.id}, ${instantOf(now)})`
  return { ...extended, definition: { ...definition, parameters }, spaceStart: proposedBy(sweep) }
}

function actionsOf(sweep: Sweep, next: Sweep, state: Sweep['state']): AuditEntry['action'][] {
  const actions: AuditEntry['action'][] = []
  if (next.definition !== sweep.definition) actions.push('sweep.edited')
  if (next.maxTrials !== sweep.maxTrials) actions.push('sweep.extended')
  if (state === sweep.state) return actions
  if (state === 'running') actions.push('sweep.resumed')
  if (state === 'paused') actions.push('sweep.paused')
  if (state === 'stopped') actions.push('sweep.stopped')
  return actions
}
