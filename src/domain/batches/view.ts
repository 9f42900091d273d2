import { type BatchCan, batchCan, callerMay, type ProjectFacts } from '../access.ts'
import type { Caller } from '../caller.ts'
import { type Derived, viewsOf } from '../field.ts'
import { type Clock, isStalled } from '../liveness.ts'
import { type BatchColumns, type BatchView, batchFields } from './batch-fields.ts'
import { clockSkewS, correctionMs } from './heard.ts'
import type { Process } from './process.ts'

/** The row of a batch, as `batchColumns` reads it: its columns, and the input of other fields. */
export interface BatchRow extends BatchColumns {
  key: number
  project_key: number
  project: string
  stop_requested: boolean
  owner_id: string
  owner_name: string
  reported: { n_done?: number; n_failed?: number; elapsed_s?: number | string } | null
  last_seen_at: string
  last_received_at: string | null
  last_live_at: string | null
  clock_skews: number[]
  event_skews: number[]
  process: Process | null
  n_jobs: number
  n_running: number
  n_completed: number
  n_failed: number
  n_stopped: number
  deleted_at: string | null
  visibility: ProjectFacts['visibility']
  project_owner_id: string
  /** The caller's role in the project. */
  role: ProjectFacts['role']
}

/** What the view of a batch needs besides its row. */
export interface BatchExtras {
  can: BatchCan
  hostId: string | null
  etaS: number | null
  progress: number | null
  eventsPending: number | null
}

type Given = [row: BatchRow, clock: Clock, extras: BatchExtras]

const derived: Derived<typeof batchFields, Given> = {
  project: (row) => row.project,
  stalled: (row, clock) => isStalled({ status: row.status, aliveAt: aliveAt(row) }, clock),
  stop_requested: (row) => row.stop_requested,
  owner: (row) => ({ id: row.owner_id, name: row.owner_name }),
  host_id: (_row, _clock, { hostId }) => hostId,
  // The process that ended the batch did not count jobs of other processes.
  n_done: (row) => Math.max(row.reported?.n_done ?? 0, row.n_completed),
  n_failed: (row) => Math.max(row.reported?.n_failed ?? 0, row.n_failed),
  n_running: (row) => row.n_running,
  slots: (row) => ({
    total: row.n_total,
    started: row.n_jobs,
    finished: row.n_completed + row.n_failed + row.n_stopped,
  }),
  last_seen_at: (row) => row.last_seen_at,
  last_received_at: (row) => row.last_received_at,
  clock_skew_s: (row) => clockSkewS(row.clock_skews),
  elapsed_s: (row, clock) => row.reported?.elapsed_s ?? elapsedS(row, clock.now),
  eta_s: (_row, _clock, { etaS }) => etaS,
  events_pending: (_row, _clock, { eventsPending }) => eventsPending,
  progress: (_row, _clock, { progress }) => progress,
  deleted_at: (row) => row.deleted_at ?? undefined,
  can: (_row, _clock, { can }) => can,
}

/** The view of a batch for REST and GraphQL. Pure. */
export const batchView: (...given: Given) => BatchView = viewsOf(batchFields, derived)

/** What the caller may do to the batch of this row, which has the caller's role. */
export function canOf(row: BatchRow, caller: Caller): BatchCan {
  const project = { visibility: row.visibility, ownerId: row.project_owner_id, role: row.role }
  return batchCan((right) => callerMay(right, caller, project, row.owner_id), {
    status: row.status,
    deleted: row.deleted_at !== null,
  })
}

/** The last sign of life by the service's clock; if there was none, the time of its newest event. */
export const aliveAt = (row: { last_live_at: string | null; last_seen_at: string }): string =>
  row.last_live_at ?? row.last_seen_at

/** The same, but if there was no sign of life, the last receipt of an event: a run that is being copied is not lost. */
export const heardAt = (row: {
  last_live_at: string | null
  last_received_at: string | null
  last_seen_at: string
}): string => row.last_live_at ?? row.last_received_at ?? row.last_seen_at

/**
 * Seconds from the start to now while it runs, else to the last sign of life (contract §4); never below 0. While it
 * runs, the start is corrected by the clock skew of the host.
 */
export function elapsedS(
  run: { status: string; started_at: string; last_seen_at: string; event_skews: readonly number[] },
  now: Date,
): number {
  if (run.status === 'running') {
    const startedMs = Date.parse(run.started_at) + correctionMs(run.event_skews)
    return Math.max(0, now.getTime() - startedMs) / 1000
  }
  return Math.max(0, Date.parse(run.last_seen_at) - Date.parse(run.started_at)) / 1000
}
