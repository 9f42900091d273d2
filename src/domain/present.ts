import type { Db } from '../db/sql.ts'
import { hostIdsOf } from './agents/index.ts'
import { aliveAt, type BatchRow, type BatchView, batchView, canOf, eventsPendingOf } from './batches/index.ts'
import type { Caller } from './caller.ts'
import { type BatchEtas, etaOf, progressOf, recentEtasOf } from './eta/index.ts'
import { type JobField, type JobRow, type JobView, jobView, jobViewOf } from './jobs/index.ts'
import { columnsOf, type FieldValue } from './lists/index.ts'
import { type Clock, isStalled } from './liveness.ts'
import { publicBatch, publicJob } from './shares/index.ts'

/** The fields of a batch that its row does not have: each of them is a read. */
export const LOOKED_UP = ['host_id', 'eta_s', 'progress', 'events_pending'] as const
export type LookedUp = (typeof LOOKED_UP)[number]

/** The views of these batches for the caller, in order; without an account only the public fields. */
export async function presentBatches(
  db: Db,
  caller: Caller,
  rows: readonly BatchRow[],
  clock: Clock,
  lookedUp: readonly LookedUp[] = LOOKED_UP,
): Promise<BatchView[]> {
  const views = await viewsOfBatches(db, caller, rows, clock, lookedUp)
  return caller.kind === 'anonymous' ? views.map(publicBatch) : views
}

/**
 * The same with every field, for callers that redact by themselves. Data from several modules is looked up once for all.
 * @param lookedUp the fields of other modules that are wanted; the others are null
 */
export async function viewsOfBatches(
  db: Db,
  caller: Caller,
  rows: readonly BatchRow[],
  clock: Clock,
  lookedUp: readonly LookedUp[] = LOOKED_UP,
): Promise<BatchView[]> {
  const of = (field: LookedUp) => (lookedUp.includes(field) ? rows : [])
  const [etas, progress, hostIds, pending] = await Promise.all([
    etasOfBatches(db, of('eta_s'), clock),
    progressOf(db, of('progress')),
    hostIdsOf(
      db,
      of('host_id').map((row) => row.key),
    ),
    eventsPendingOf(db, of('events_pending')),
  ])
  return rows.map((row) =>
    batchView(row, clock, {
      can: canOf(row, caller),
      hostId: hostIds.get(row.key) ?? null,
      etaS: etas.get(row.key)?.batch.eta_s ?? null,
      progress: progress.get(row.key) ?? null,
      eventsPending: pending.get(row.key) ?? null,
    }),
  )
}

/** Values over the jobs of these batches, by batch key: fields by their names, and the range of the ETA as `eta`. */
export async function presentColumns(
  db: Db,
  rows: readonly BatchRow[],
  columns: readonly string[],
  clock: Clock,
): Promise<Map<number, Record<string, FieldValue>>> {
  const keys = rows.map((row) => row.key)
  const fields = columns.filter((column) => column !== 'eta')
  const [values, etas] = await Promise.all([
    columnsOf(db, keys, fields),
    columns.includes('eta') ? etasOfBatches(db, rows, clock) : undefined,
  ])
  return new Map(
    keys.map((key) => {
      const eta = etas?.get(key)?.batch
      const range = eta && eta.eta_s !== null && { low: eta.low_s, high: eta.high_s, n: eta.n_samples }
      return [key, { ...values.get(key), ...(range && { eta: range }) }]
    }),
  )
}

/** The views of these jobs for the caller, in order; without an account only the public fields. */
export async function presentJobs(
  db: Db,
  caller: Caller,
  rows: readonly JobRow[],
  clock: Clock,
): Promise<JobView[]> {
  const views = await viewsOfJobs(db, rows, clock)
  return caller.kind === 'anonymous' ? views.map(publicJob) : views
}

/**
 * The same with every field.
 * @param fields these alone: a row then needs only what they are made of
 */
export async function viewsOfJobs(
  db: Db,
  rows: readonly JobRow[],
  clock: Clock,
  fields?: readonly JobField[],
): Promise<JobView[]> {
  const estimated = fields === undefined || fields.includes('eta_s')
  const running = new Set(
    estimated ? rows.flatMap((row) => (row.status === 'running' ? row.batch_key : [])) : [],
  )
  const etas: Map<number, BatchEtas> = running.size === 0 ? new Map() : await etaOf(db, [...running], clock)
  // With fewer fields no other one was requested.
  const viewOf = fields === undefined ? jobView : (jobViewOf(fields) as typeof jobView)
  return rows.map((row) =>
    viewOf(row, clock, { etaS: etas.get(row.batch_key)?.jobs.get(row.key)?.eta_s ?? null }),
  )
}

/** The ETAs of running batches. */
export const etasOfBatches = (
  db: Db,
  rows: readonly BatchRow[],
  clock: Clock,
): Promise<Map<number, BatchEtas>> =>
  recentEtasOf(
    db,
    rows
      .filter(
        (row) => row.status === 'running' && !isStalled({ status: row.status, aliveAt: aliveAt(row) }, clock),
      )
      .map((row) => ({
        key: row.key,
        stamp: [row.last_seen_at, row.n_jobs, row.n_running, row.n_total].join(),
      })),
    clock,
  )
