import { randomBytes } from 'node:crypto'
import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { type FieldError, Problem } from '../../problem.ts'
import { isOpen, type VisibleProject, visibleBatch, visibleProject } from '../access.ts'
import type { Known } from '../caller.ts'
import type { Clock } from '../liveness.ts'
import { isStorable } from '../storable-text.ts'
import { ending } from './ending.ts'
import { endOf, type Sweep, stateOf, type TrialRow, trialRows, visibleSweep } from './reads.ts'
import { combinations, gridAt, paramFaults, randomAt, type Space, spaceFaults } from './space.ts'
import {
  budgetOf,
  type Definition,
  hasMore,
  MAX_LOST,
  proposedBy,
  proposesItself,
  type SweepEvent,
  startOf,
  startSecond,
  totalOf,
} from './sweep.ts'
import { auditSweep, type Done, sweepChanges } from './trace.ts'

/** Lower-case letters and digits that cannot be mistaken for each other in a terminal. */
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789'
const newId = (): string => Array.from(randomBytes(10), (byte) => ALPHABET[byte % ALPHABET.length]).join('')

export interface PlannedSweep {
  id: string
  batchId: string
  definition: Definition
  maxTrials: number | null
  /** The start of its batch. Store it, then call `createSweep`. */
  start: SweepEvent
}

/**
 * Checks the definition of a new sweep. A project that does not exist is created by the start of the batch, as by a first
 * run (contract §2).
 * @throws Problem project_not_found, forbidden; invalid_body
 */
export async function planSweep(
  tx: Tx,
  actor: Known,
  slug: string,
  definition: Definition,
  maxTrials: number | null,
): Promise<PlannedSweep> {
  if (await projectExists(tx, slug)) await writableProject(tx, actor, slug)
  refuse(spaceFaults(definition.parameters, definition.method))
  const id = newId()
  const batchId = `sweep-${id}`
  const budget = budgetOf({ definition, maxTrials, spaceStart: 0 })
  const start = startOf({ batchId, project: slug, definition }, budget)
  return { id, batchId, definition, maxTrials, start }
}

async function projectExists(db: Tx, slug: string): Promise<boolean> {
  const found = isStorable(slug)
    ? await db`/* sweeps.project */ select from projects where slug = ${slug}`
    : []
  return found.length > 0
}

/** The project, for callers who may send events to it. @throws Problem project_not_found, forbidden */
export async function writableProject(db: Tx, actor: Known, slug: string): Promise<VisibleProject> {
  const sends = actor.via === 'reporter'
  const project = await visibleProject(db, actor, slug, { sending: sends })
  if (!project.may('send_events')) throw new Problem('forbidden')
  return project
}

export function refuse(errors: FieldError[]): void {
  if (errors.length === 0) return
  const detail = errors.slice(0, 3).map(({ path, message }) => `${path} ${message}`)
  throw new Problem('invalid_body', { errors, detail: detail.join('; ') })
}

/** Stores a planned sweep, whose batch has started. */
export async function createSweep(
  tx: Tx,
  actor: Known,
  { id, batchId, definition, maxTrials }: PlannedSweep,
  now: Date,
): Promise<Done<string>> {
  const seen = await visibleBatch(tx, actor, batchId, { polling: true })
  await tx`/* sweeps.create */
    with made as (
      insert into sweeps (id, batch_key, definition, max_trials, created_by, created_at)
      values (${id}, ${seen.key}, ${JSON.stringify(definition)}::text::jsonb, ${maxTrials}, ${actor.user.id}, ${instantOf(now)}))
    update batches set sweep_id = ${id} where key = ${seen.key}`
  await auditSweep(tx, actor, { action: 'sweep.created', batch: seen, sweep: id }, now)
  return { result: id, changes: sweepChanges(seen) }
}

export interface Asked {
  worker: string
  params: Record<string, unknown> | undefined
  askId: string | undefined
  /** The worker renews its trial more often than this; undefined if it does not. */
  leaseS: number | undefined
  /** The worker sends the start of the job itself. */
  reportsStart: boolean
}

export interface Reserved {
  /** Null if there is none left. */
  trial: { number: number; job_id: string; params: Record<string, unknown> } | null
  /** Of the batch, sent in the name of its owner. */
  batchEvents: SweepEvent[]
  /** Of the trial, sent in the name of the caller. */
  jobEvents: SweepEvent[]
  owner: { id: string; role: 'user' }
}

/**
 * Reserves one trial for a worker: a lost one, else a new one. The sweep's row is locked, so two workers never get the
 * same one.
 * @throws Problem sweep_not_found, forbidden; sweep_paused; params_required; invalid_body
 */
export async function reserveTrial(
  tx: Tx,
  actor: Known,
  id: string,
  asked: Asked,
  clock: Clock,
): Promise<Done<Reserved>> {
  const seen = await visibleSweep(tx, actor, id)
  if (!seen.batch.may('send_events')) throw new Problem('forbidden')
  await tx`/* sweeps.lock */ select from sweeps where id = ${id} for update`
  const sweep = await visibleSweep(tx, actor, id)
  const repeated = await askedBefore(tx, sweep, asked, clock.now)
  if (repeated !== undefined) return answer(sweep, repeated, [], asked.reportsStart)
  if (sweep.state === 'paused') throw new Problem('sweep_paused')
  const open = await trialRows(tx, sweep, { open: true })
  const ended = open.filter((row) => endOf(row) !== null)
  if (ended.length > 0) await settle(tx, id, ended)
  if (sweep.state !== 'running') return answer(sweep, null, await ending(tx, sweep, open, clock))
  checkProposal(sweep, asked)
  const lost = open.filter((row) => stateOf(row, clock) === 'lost')
  const isFatal = (row: TrialRow) => lossesOf(row) >= MAX_LOST
  const fatal = lost.filter(isFatal).map((row) => failureOf(sweep, row))
  const again =
    lost.findLast((row) => !isFatal(row)) ?? open.findLast((row) => stateOf(row, clock) === 'queued')
  if (again !== undefined)
    return answer(sweep, await handOut(tx, sweep, again, asked, clock.now), fatal, asked.reportsStart)
  if (!hasMore(sweep)) return answer(sweep, null, [...fatal, ...(await ending(tx, sweep, open, clock))])
  return answer(sweep, await addTrial(tx, sweep, asked, clock.now), fatal, asked.reportsStart)
}

/** How many workers were lost during the trial, with the last one; evictions do not count. */
const lossesOf = ({ deaths, evicted }: TrialRow): number => deaths + (evicted ? 0 : 1)

/** Ends a trial that was lost by every worker. */
const failureOf = ({ batch }: Sweep, row: TrialRow): SweepEvent => ({
  event_type: 'job_failed',
  batch_id: batch.id,
  job_id: row.job_id,
  project: batch.projectSlug,
  data: { reason: `${lossesOf(row)} workers died or went silent during this trial`, elapsed_s: 0 },
})

function checkProposal({ definition }: Sweep, { params }: Asked): void {
  if (params === undefined) {
    if (proposesItself(definition.method)) return
    throw new Problem('params_required', {
      detail: `Workers propose the parameters of method ${definition.method}: send params, or use svc.ask() of svc-reporter`,
    })
  }
  if (definition.method === 'grid') {
    refuse([
      { path: 'params', message: 'must be absent: the service chooses the next combination of a grid' },
    ])
  }
  refuse(paramFaults(definition.parameters, params))
}

/** `startsAt` is when the trial starts; null if its job has started. */
type Handed = NonNullable<Reserved['trial']> & { startsAt: string | null }

/** The trial that an earlier request with the same `ask_id` reserved, whose answer did not arrive. */
async function askedBefore(tx: Tx, sweep: Sweep, { askId }: Asked, now: Date): Promise<Handed | undefined> {
  if (askId === undefined) return undefined
  const [row] = await tx<(Handed & { fresh: boolean })[]>`/* sweeps.asked_before */
    select t.number, t.job_id, t.params, not exists (
      select from jobs j where j.batch_key = ${sweep.batch.key} and j.id = t.job_id) fresh
    from sweep_trials t where t.sweep_id = ${sweep.id} and t.ask_id = ${askId}`
  if (row === undefined) return undefined
  const { fresh, ...trial } = row
  return { ...trial, startsAt: fresh ? startSecond(now) : null }
}

async function handOut(tx: Tx, { id }: Sweep, lost: TrialRow, asked: Asked, now: Date): Promise<Handed> {
  await tx`/* sweeps.hand_out_again */
    with next as (update sweeps set changes = changes + 1 where id = ${id} returning changes)
    update sweep_trials t set worker = ${asked.worker}, ask_id = ${asked.askId ?? null}, reserved_at = ${instantOf(now)},
      lease_s = ${asked.leaseS ?? null}, renewed_at = null, released = false, evicted = false, queued = false,
      deaths = ${lost.queued ? 0 : lossesOf(lost)}, prior_end = ${lost.ended_at},
      handed_out = handed_out + 1, changed = next.changes
    from next where t.sweep_id = ${id} and t.number = ${lost.number}`
  return {
    number: lost.number,
    job_id: lost.job_id,
    params: lost.params,
    startsAt: startSecond(now, lost.ended_at),
  }
}

async function addTrial(tx: Tx, sweep: Sweep, asked: Asked, now: Date): Promise<Handed> {
  const { id, definition, nextNumber: number } = sweep
  const params = asked.params ?? proposed(definition, id, proposedBy(sweep) - sweep.spaceStart, number)
  const jobId = `trial-${number}`
  await tx`/* sweeps.add_trial */
    with next as (
      update sweeps set next_number = next_number + 1, changes = changes + 1 where id = ${id} returning changes)
    insert into sweep_trials (sweep_id, number, job_id, params, worker, ask_id, lease_s, reserved_at, changed)
    select ${id}, ${number}, ${jobId}, ${JSON.stringify(params)}::text::jsonb, ${asked.worker}, ${asked.askId ?? null},
      ${asked.leaseS ?? null}::int, ${instantOf(now)}, next.changes
    from next`
  return { number, job_id: jobId, params, startsAt: startSecond(now) }
}

/** The parameters of combination `nth` of the grid, or the draw for the trial `number`. */
const proposed = (
  { method, parameters }: Definition,
  id: string,
  nth: number,
  number: number,
): Record<string, unknown> => (method === 'grid' ? gridAt(parameters, nth) : randomAt(parameters, id, number))

async function settle(tx: Tx, id: string, rows: readonly TrialRow[]): Promise<void> {
  await tx`/* sweeps.settle */
    with next as (update sweeps set changes = changes + 1 where id = ${id} returning changes)
    update sweep_trials t set settled = true, changed = next.changes
    from next where t.sweep_id = ${id} and t.number = any (${rows.map((row) => row.number)}::int[])`
}

function answer(
  sweep: Sweep,
  trial: Handed | null,
  batchEvents: SweepEvent[],
  reportsStart = false,
): Done<Reserved> {
  const { batch, definition } = sweep
  const startsAt = trial?.startsAt ?? null
  const start: SweepEvent[] =
    trial !== null && startsAt !== null && !reportsStart
      ? [
          {
            event_type: 'job_start',
            batch_id: batch.id,
            job_id: trial.job_id,
            project: batch.projectSlug,
            data: trial.params,
            timestamp: startsAt,
          },
        ]
      : []
  // Someone else ended the batch, so it starts again.
  const reopened =
    startsAt !== null && !isOpen(batch)
      ? [startOf({ batchId: batch.id, project: batch.projectSlug, definition }, totalOf(sweep))]
      : []
  return {
    result: {
      trial: trial === null ? null : { number: trial.number, job_id: trial.job_id, params: trial.params },
      batchEvents: [...reopened, ...batchEvents],
      jobEvents: start,
      owner: { id: batch.ownerId, role: 'user' },
    },
    changes: startsAt === null ? [] : sweepChanges(batch),
  }
}

/** The first trials of a definition, for a preview: at most `limit`. Of other methods than a grid, draws at random. */
export function previewOf(
  definition: { method: Definition['method']; parameters: Space },
  maxTrials: number | null,
  limit: number,
): { n_total: number | null; combinations: number | null; trials: Record<string, unknown>[] } {
  refuse(spaceFaults(definition.parameters, definition.method))
  const budget = budgetOf({ definition, maxTrials, spaceStart: 0 })
  const size = combinations(definition.parameters)
  const method = definition.method === 'grid' ? 'grid' : 'random'
  const n = Math.min(limit, budget ?? limit)
  return {
    n_total: budget,
    combinations: Number.isFinite(size) ? size : null,
    trials: Array.from({ length: n }, (_, i) =>
      proposed({ ...definition, method } as Definition, 'preview', i, i),
    ),
  }
}
