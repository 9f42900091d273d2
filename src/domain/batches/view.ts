import { type BatchCan, batchCan, callerMay, type ProjectFacts } from '../access.ts'
import type { Caller } from '../caller.ts'
import { type Clock, isStalled } from '../liveness.ts'
import type { BatchStatus } from './batch.ts'
import type { Process } from './process.ts'
import { clockSkewS, correctionMs } from './receipts.ts'

/** A batch as `batchColumns` reads it. */
export interface BatchRow {
  key: number
  id: string
  project_key: number
  project: string
  status: BatchStatus
  stop_requested: boolean
  owner_id: string
  owner_name: string
  host: string | null
  username: string | null
  commit_sha: string | null
  command: string | null
  experiment_type: string | null
  tags: string[]
  notes: string
  name: string | null
  group_name: string | null
  config: Record<string, unknown> | null
  summary: Record<string, unknown> | null
  traceback: string | null
  starred: boolean
  archived: boolean
  n_total: number | null
  reported: { n_done?: number; n_failed?: number; elapsed_s?: number | string } | null
  started_at: string
  ended_at: string | null
  last_seen_at: string
  last_received_at: string | null
  last_live_at: string | null
  clock_skews: number[]
  process: Process | null
  n_jobs: number
  n_running: number
  n_completed: number
  n_failed: number
  n_stopped: number
  failure_reason: string | null
  env_snapshot: Environment | null
  rerun_of: string | null
  deleted_at: string | null
  visibility: ProjectFacts['visibility']
  project_owner_id: string
  /** The asking caller's role in the project. */
  role: ProjectFacts['role']
}

export interface Environment {
  commit: string | null
  command: string | null
  cwd: string | null
  hostname: string | null
  [more: string]: unknown
}

/** A batch on the wire (contract §4). */
export interface BatchView {
  id: string
  /** For display; null: it is known by its id. */
  name: string | null
  project: string
  status: BatchStatus
  stalled: boolean
  stop_requested: boolean
  /** Null in an anonymous share. */
  owner: { id: string; name: string } | null
  host: string | null
  /** The agent on its host, once there is one. */
  host_id: string | null
  user: string | null
  commit: string | null
  command: string | null
  experiment_type: string | null
  tags: string[]
  /** Markdown. */
  notes: string
  group: string | null
  /** What the run was given, as its reporter sent it; it may change while the run goes on. */
  config: Record<string, unknown> | null
  /** What the run itself set, such as the best accuracy. */
  summary: Record<string, unknown> | null
  starred: boolean
  archived: boolean
  n_total: number | null
  n_done: number
  n_failed: number
  n_running: number
  slots: { total: number | null; started: number; finished: number }
  started_at: string
  ended_at: string | null
  last_seen_at: string
  /** When the last of its events was received; null of batches older than that is recorded. */
  last_received_at: string | null
  /** How many seconds its host's clock is behind the service's; null where its sender does not say. */
  clock_skew_s: number | null
  /** Seconds; "NaN" or an infinity where the reporter said so. */
  elapsed_s: number | string
  eta_s: number | null
  /** How much of it is done, 0 to 1, by jobs and, where they are planned, by epochs; null where nothing is planned. */
  progress: number | null
  failure_reason: string | null
  /** Of the failure that ended it. */
  traceback: string | null
  env_snapshot: Environment | null
  rerun_of: string | null
  deleted_at?: string
  can: BatchCan
}

/** What a batch's view needs that its row does not hold. */
export interface BatchExtras {
  can: BatchCan
  hostId: string | null
  etaS: number | null
  progress: number | null
}

/** The one form of a batch for REST and GraphQL. Pure. */
export function batchView(
  row: BatchRow,
  clock: Clock,
  { can, hostId, etaS, progress }: BatchExtras,
): BatchView {
  return {
    id: row.id,
    name: row.name,
    project: row.project,
    status: row.status,
    stalled: isStalled({ status: row.status, aliveAt: aliveAt(row) }, clock),
    stop_requested: row.stop_requested,
    owner: { id: row.owner_id, name: row.owner_name },
    host: row.host,
    host_id: hostId,
    user: row.username,
    commit: row.commit_sha,
    command: row.command,
    experiment_type: row.experiment_type,
    tags: row.tags,
    notes: row.notes,
    group: row.group_name,
    config: row.config,
    summary: row.summary,
    starred: row.starred,
    archived: row.archived,
    n_total: row.n_total,
    // Jobs that other processes reported are not among what the one that ended it counted.
    n_done: Math.max(row.reported?.n_done ?? 0, row.n_completed),
    n_failed: Math.max(row.reported?.n_failed ?? 0, row.n_failed),
    n_running: row.n_running,
    slots: {
      total: row.n_total,
      started: row.n_jobs,
      finished: row.n_completed + row.n_failed + row.n_stopped,
    },
    started_at: row.started_at,
    ended_at: row.ended_at,
    last_seen_at: row.last_seen_at,
    last_received_at: row.last_received_at,
    clock_skew_s: clockSkewS(row.clock_skews),
    elapsed_s: row.reported?.elapsed_s ?? elapsedS(row, clock.now),
    eta_s: etaS,
    progress,
    failure_reason: row.failure_reason,
    traceback: row.traceback,
    env_snapshot: row.env_snapshot,
    rerun_of: row.rerun_of,
    ...(row.deleted_at === null ? {} : { deleted_at: row.deleted_at }),
    can,
  }
}

/** What the caller may do to the batch of this row, which was read with the caller's role. */
export function canOf(row: BatchRow, caller: Caller): BatchCan {
  const project = { visibility: row.visibility, ownerId: row.project_owner_id, role: row.role }
  return batchCan((right) => callerMay(right, caller, project, row.owner_id), {
    status: row.status,
    deleted: row.deleted_at !== null,
  })
}

/** The last sign of life by the service's clock; of a batch that never showed any, when its newest event was made. */
export const aliveAt = (row: { last_live_at: string | null; last_seen_at: string }): string =>
  row.last_live_at ?? row.last_seen_at

/** The same, but of a batch that never showed one the last receipt of an event: a run that is being copied is not lost. */
export const heardAt = (row: {
  last_live_at: string | null
  last_received_at: string | null
  last_seen_at: string
}): string => row.last_live_at ?? row.last_received_at ?? row.last_seen_at

/**
 * Seconds from the start to now while it runs, else to the last sign of life (contract §4); never below 0. While it
 * runs the start is put into the service's time by what is known of the host's clock.
 */
export function elapsedS(
  run: { status: string; started_at: string; last_seen_at: string; clock_skews?: readonly number[] },
  now: Date,
): number {
  if (run.status === 'running') {
    const startedMs = Date.parse(run.started_at) + correctionMs(run.clock_skews ?? [])
    return Math.max(0, now.getTime() - startedMs) / 1000
  }
  return Math.max(0, Date.parse(run.last_seen_at) - Date.parse(run.started_at)) / 1000
}
