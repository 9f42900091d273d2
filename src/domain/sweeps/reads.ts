import { instantOf } from '../../db/instant.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { type BatchAccess, notFoundAs, visibleBatch } from '../access.ts'
import { correctionMs, eventSkews } from '../batches/index.ts'
import type { Caller } from '../caller.ts'
import { type Clock, canEvaluate, lostBefore } from '../liveness.ts'
import { readSeries } from '../metrics/index.ts'
import { numberOf, writeNumber } from '../numbers.ts'
import { isStorable } from '../storable-text.ts'
import type { Telemetry } from '../telemetry.ts'
import type { Budgeted, Definition, SweepState, TrialState } from './sweep.ts'
import type { TrialView } from './sweep-fields.ts'

/** A stored sweep, with the permissions of the caller for its batch. */
export interface Sweep extends Budgeted {
  id: string
  definition: Definition
  state: SweepState
  createdAt: string
  createdBy: { id: string; name: string } | null
  batch: BatchAccess
}

interface SweepRow {
  batch_id: string
  definition: Definition
  state: SweepState
  max_trials: number | null
  next_number: number
  extra: number
  space_start: number
  created_at: string
  creator_id: string | null
  creator_name: string | null
}

/**
 * The sweep, if the caller may see its batch. Reporter tokens may read the sweeps of projects that they may write to.
 * @throws Problem sweep_not_found, the same whether it does not exist or is not visible; forbidden
 */
export async function visibleSweep(db: Db, caller: Caller, id: string): Promise<Sweep> {
  const [row] = isStorable(id)
    ? await db<SweepRow[]>`/* sweeps.by_id */
        select b.id batch_id, s.definition, s.state, s.max_trials, s.next_number, s.extra, s.space_start, s.created_at,
          u.id creator_id, u.name creator_name
        from sweeps s join batches b on b.key = s.batch_key left join users u on u.id = s.created_by
        where s.id = ${id}`
    : []
  if (row === undefined) throw new Problem('sweep_not_found')
  const sends = caller.kind === 'known' && (caller.via === 'reporter' || caller.via === 'rerun')
  const batch = await visibleBatch(db, caller, row.batch_id, { polling: sends }).catch(
    notFoundAs('sweep_not_found'),
  )
  if (sends && !batch.may('send_events')) throw new Problem('forbidden')
  return {
    id,
    definition: row.definition,
    state: row.state,
    maxTrials: row.max_trials,
    nextNumber: row.next_number,
    extra: row.extra,
    spaceStart: row.space_start,
    createdAt: row.created_at,
    createdBy: row.creator_id === null ? null : { id: row.creator_id, name: row.creator_name ?? '' },
    batch,
  }
}

/** Whether the caller may pause, resume, extend and stop the sweep: a person who may stop its batch, or its owner's token. */
export const mayChange = (caller: Caller, batch: BatchAccess): boolean =>
  batch.may('stop') ||
  (caller.kind === 'known' && caller.via === 'reporter' && caller.user.id === batch.ownerId)

/** Names of people and machines are for members of the project (contract §2). */
export const isInsider = (caller: Caller, batch: BatchAccess): boolean =>
  batch.may('know_commands') || (caller.kind === 'known' && batch.may('send_events'))

/** A trial with its job, as far as its state and its value depend on it. */
export interface TrialRow {
  number: number
  job_id: string
  params: Record<string, unknown>
  worker: string
  reserved_at: string
  handed_out: number
  changed: number
  /** Seconds that the worker has the trial after each renewal; null if it does not renew. */
  lease_s: number | null
  renewed_at: string | null
  released: boolean
  evicted: boolean
  deaths: number
  queued: boolean
  prior_end: string | null
  /** Null before the first event of its job. */
  status: 'running' | 'completed' | 'failed' | 'stopped' | 'lost' | null
  pruned: boolean | null
  started_at: string | null
  ended_at: string | null
  failure_reason: string | null
  last_seen_at: string | null
  event_skews: number[]
  /** Of the sweep's metric, as JSON: the final metric, else the best over all steps, by which jobs are ranked everywhere. */
  value: unknown
}

/** Which trials to read: those without an end, or pages of all, newest first. */
type Selection =
  | { open: true }
  | { all: true }
  | { limit: number; before: number | undefined; changedAfter: number | undefined }

/** The trials of the sweep with the state of their jobs; with `all` without their parameters. */
export async function trialRows(
  db: Db | Tx,
  sweep: { id: string; definition: Definition; batch: { key: number } },
  selection: Selection,
): Promise<TrialRow[]> {
  const { name: metric, goal } = sweep.definition.metric
  const best = goal === 'minimize' ? db`p.min_value` : db`p.max_value`
  const paged = 'limit' in selection ? selection : undefined
  const after = paged?.changedAfter
  const which =
    'open' in selection
      ? db`and not t.settled`
      : db`and (${paged?.before ?? null}::int is null or t.number < ${paged?.before ?? null}::int)
          and (${after ?? null}::bigint is null or not t.settled or t.changed > ${after ?? null}::bigint)`
  return db<TrialRow[]>`/* sweeps.trials */
    select t.number, t.job_id, ${'all' in selection ? db`'{}'::jsonb` : db`t.params`} params, t.worker, t.reserved_at,
      t.handed_out, t.changed, t.lease_s, t.renewed_at, t.released, t.evicted, t.deaths, t.queued, t.prior_end, x.*, ${db.unsafe(eventSkews('g'))} event_skews
    from (
      select * from sweep_trials t where t.sweep_id = ${sweep.id} ${which}
      order by t.number desc limit ${paged?.limit ?? null}::int) t
    join batch_progress g on g.batch_key = ${sweep.batch.key}
    left join lateral (
      select j.status, j.pruned, j.started_at, j.ended_at, j.failure_reason, p.last_seen_at,
        coalesce(j.metrics -> ${metric}::text, to_jsonb(${best}[array_position(p.series, ${metric}::text)])) as value
      from jobs j join job_progress p on p.job_key = j.key
      where j.batch_key = ${sweep.batch.key} and j.id = t.job_id) x on true
    order by t.number desc`
}

/** When the trial's worker was last heard of, in milliseconds of the service's clock. */
const heardMs = (row: TrialRow): number =>
  Math.max(
    Date.parse(row.reserved_at),
    row.renewed_at === null ? 0 : Date.parse(row.renewed_at),
    row.last_seen_at === null ? 0 : Date.parse(row.last_seen_at) + correctionMs(row.event_skews),
  )

/**
 * The state of a trial, from its job. A trial is lost, and handed out again, if its worker died or gave it back, or was
 * silent for too long: for longer than its lease, or without a lease for longer than a batch may be
 * (`SVC_LOST_AFTER_MIN`).
 */
export function stateOf(row: TrialRow, clock: Clock): TrialState {
  const ended = endOf(row)
  if (ended !== null) return ended
  if (row.queued) return 'queued'
  if (row.released) return 'lost'
  const silent = row.lease_s === null ? lostBefore(clock) : leaseBefore(row.lease_s, clock)
  if (silent !== null && heardMs(row) < silent.getTime()) return 'lost'
  // A new worker has the trial of a lost job, and its first event has not arrived yet.
  const again = row.last_seen_at === null || Date.parse(row.reserved_at) > heardOfJobMs(row)
  return row.status === 'lost' && !again ? 'lost' : 'running'
}

/** How the trial ended; null while it has no end, or only the end of an earlier worker. */
export function endOf(row: TrialRow): 'completed' | 'pruned' | 'failed' | 'stopped' | null {
  if (row.ended_at !== null && row.ended_at === row.prior_end) return null
  if (row.status === 'completed') return row.pruned === true ? 'pruned' : 'completed'
  return row.status === 'failed' || row.status === 'stopped' ? row.status : null
}

/** A worker with this lease that was last heard of before this time has lost it; null while that is not evaluated. */
const leaseBefore = (leaseS: number, clock: Clock): Date | null =>
  canEvaluate(leaseS / 60, clock) ? new Date(clock.now.getTime() - leaseS * 1000) : null

const heardOfJobMs = (row: TrialRow): number =>
  row.last_seen_at === null ? 0 : Date.parse(row.last_seen_at) + correctionMs(row.event_skews)

export function trialView(row: TrialRow, caller: Caller, sweep: Sweep, clock: Clock): TrialView {
  const value = numberOf(row.value)
  return {
    number: row.number,
    job_id: row.job_id,
    state: stateOf(row, clock),
    params: row.params,
    value: value === undefined ? null : writeNumber(value),
    worker: isInsider(caller, sweep.batch) && row.worker !== '' ? row.worker : null,
    last_seen_at: row.queued ? null : instantOf(new Date(heardMs(row))),
    handed_out: row.handed_out,
    reserved_at: row.reserved_at,
    started_at: row.started_at,
    ended_at: row.ended_at,
    failure_reason: row.failure_reason,
    changed: row.changed,
  }
}

/** The most values of one trial; of longer series evenly spread ones are returned. */
const MAX_INTERMEDIATE = 1_000

/** The values of the sweep's metric of these jobs, by job id, in the order of their steps. */
export async function intermediateValues(
  db: Telemetry,
  sweep: Sweep,
  jobIds: string[],
): Promise<Map<string, [step: number, value: number][]>> {
  const found = new Map<string, [number, number][]>()
  if (jobIds.length === 0) return found
  const query = { keys: [sweep.definition.metric.name], jobs: jobIds }
  for await (const { jobId, steps, values } of readSeries(db, sweep.batch.key, query)) {
    const stride = Math.ceil(steps.length / MAX_INTERMEDIATE)
    const kept: [number, number][] = []
    for (let i = 0; i < steps.length; i += stride) kept.push([steps[i] ?? 0, values[i] ?? Number.NaN])
    found.set(jobId, kept)
  }
  return found
}
