import type { Db } from '../../db/sql.ts'
import type { Caller } from '../caller.ts'
import type { Clock } from '../liveness.ts'
import { numberOf, writeNumber } from '../numbers.ts'
import { commandsOfSweep } from './commands.ts'
import { isInsider, mayChange, type Sweep, stateOf, type TrialRow, trialRows } from './reads.ts'
import { totalOf } from './sweep.ts'
import type { Edit, SweepView } from './sweep-fields.ts'

type TrialCounts = SweepView['trials']

export async function sweepView(db: Db, caller: Caller, sweep: Sweep, clock: Clock): Promise<SweepView> {
  const { definition, batch } = sweep
  const trials = await trialRows(db, sweep, { all: true })
  const counts: TrialCounts = {
    running: 0,
    completed: 0,
    pruned: 0,
    failed: 0,
    stopped: 0,
    lost: 0,
    queued: 0,
  }
  let best: TrialRow | undefined
  const better = definition.metric.goal === 'minimize' ? -1 : 1
  const valued = (row: TrialRow) => numberOf(row.value) ?? Number.NaN
  for (const row of trials) {
    const state = stateOf(row, clock)
    counts[state]++
    if (state !== 'completed' || Number.isNaN(valued(row))) continue
    if (best === undefined || (valued(row) - valued(best)) * better > 0) best = row
  }
  const insider = isInsider(caller, batch)
  return {
    id: sweep.id,
    batch_id: batch.id,
    project: batch.projectSlug,
    name: definition.name,
    method: definition.method,
    metric: definition.metric,
    parameters: definition.parameters,
    early_stopping: definition.early_stopping ?? null,
    command: insider ? (definition.command ?? null) : null,
    max_trials: sweep.maxTrials,
    n_total: totalOf(sweep),
    state: sweep.state,
    created_at: sweep.createdAt,
    created_by: insider ? sweep.createdBy : null,
    trials: counts,
    best: best === undefined ? null : await withParams(db, sweep, best),
    edits: await editsOf(db, sweep, insider),
    eta_s: etaOf(sweep, trials, counts),
    commands: await commandsOfSweep(db, caller, sweep, clock.now),
    can: { ask: batch.may('send_events'), change: mayChange(caller, batch), start: batch.may('rerun') },
  }
}

async function editsOf(db: Db, { id }: Sweep, insider: boolean): Promise<Edit[]> {
  const rows = await db<
    (Omit<Edit, 'by'> & { by_id: string | null; by_name: string | null })[]
  >`/* sweeps.edits */
    select e.from_number, e.parameters, e.edited_at at, u.id by_id, u.name by_name
    from sweep_edits e left join users u on u.id = e.edited_by where e.sweep_id = ${id} order by e.id`
  return rows.map(({ by_id, by_name, ...edit }) => ({
    ...edit,
    by: insider && by_id !== null ? { id: by_id, name: by_name ?? '' } : null,
  }))
}

/** Seconds until the last trial ends, at the pace of those that ended and with the workers of now; null if unknown. */
function etaOf(sweep: Sweep, trials: readonly TrialRow[], counts: TrialCounts): number | null {
  const total = totalOf(sweep)
  if (total === null || sweep.state !== 'running' || counts.running === 0) return null
  const took = trials.flatMap(({ status, started_at: start, ended_at: end }) =>
    status === 'completed' && start !== null && end !== null ? [Date.parse(end) - Date.parse(start)] : [],
  )
  if (took.length === 0) return null
  const meanS = took.reduce((sum, ms) => sum + Math.max(0, ms), 0) / took.length / 1000
  const ended = counts.completed + counts.pruned + counts.failed + counts.stopped
  // Trials that run are on average half done.
  const left = total - ended - counts.running / 2
  return Math.round((Math.max(0, left) * meanS) / counts.running)
}

async function withParams(db: Db, sweep: Sweep, { number, job_id, value }: TrialRow) {
  const [row] = await db<{ params: Record<string, unknown> }[]>`/* sweeps.best */
    select params from sweep_trials where sweep_id = ${sweep.id} and number = ${number}`
  return { number, job_id, value: writeNumber(numberOf(value) ?? Number.NaN), params: row?.params ?? {} }
}
