import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Known } from '../caller.ts'
import type { Clock } from '../liveness.ts'
import { type Sweep, stateOf, trialRows, visibleSweep } from './reads.ts'
import type { TrialState } from './sweep.ts'
import { type Done, sweepChanges } from './trace.ts'

interface Renewal {
  id: string
  number: number
  askId: string
  release: boolean
  /** The worker was ended from outside, as by a time limit: this does not count as a loss during the trial. */
  evicted: boolean
}

/**
 * Renews the lease of a trial, or gives the trial back so that another worker gets it. The worker is known by the
 * `ask_id` of its request.
 * @returns the state of the trial; one that has ended stays as it ended
 * @throws Problem sweep_not_found, forbidden; trial_not_found; trial_taken
 */
export async function renewTrial(
  tx: Tx,
  actor: Known,
  { id, number, askId, release, evicted }: Renewal,
  clock: Clock,
): Promise<Done<{ state: TrialState }>> {
  const sweep = await visibleSweep(tx, actor, id)
  if (!sweep.batch.may('send_events')) throw new Problem('forbidden')
  const [held] = await tx<{ ask_id: string | null; released: boolean }[]>`/* sweeps.lock_trial */
    select ask_id, released from sweep_trials where sweep_id = ${id} and number = ${number} for update`
  if (held === undefined) throw new Problem('trial_not_found')
  if (held.ask_id !== askId) throw new Problem('trial_taken')
  const changes = release && !held.released ? sweepChanges(sweep.batch) : []
  await tx`/* sweeps.renew */
    update sweep_trials set renewed_at = ${instantOf(clock.now)}, released = released or ${release},
      evicted = case when released then evicted else ${release && evicted}::boolean end
    where sweep_id = ${id} and number = ${number}`
  return { result: { state: await stateNow(tx, sweep, number, clock) }, changes }
}

async function stateNow(tx: Tx, sweep: Sweep, number: number, clock: Clock): Promise<TrialState> {
  const [row] = await trialRows(tx, sweep, { limit: 1, before: number + 1, changedAfter: undefined })
  if (row === undefined) throw new Problem('trial_not_found')
  return stateOf(row, clock)
}
