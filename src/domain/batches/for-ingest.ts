import { entryOf } from '../../checked.ts'
import { canonicalInstant } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { type SqlFragment, sqlFragment } from '../../db/sql-fragment.ts'
import type { Merged } from '../merge.ts'
import {
  type BatchState,
  type Closing,
  endedAt,
  environmentOf,
  failureReasonOf,
  startedAt,
  statusOf,
} from './batch.ts'
import { detailsOf, sentTags } from './details.ts'
import { unheard } from './heard.ts'
import type { Process } from './process.ts'
import { type StoredEnd, withCounts } from './reported-end.ts'

/** A batch as ingest finds it, locked until the transaction ends. */
export interface LoadedBatch {
  state: BatchState
  ownerId: string
  purged: boolean
  /** In the trash: its events are stored, and it stays there. */
  deleted: boolean
  /** Its telemetry is in the archive and has to be restored before anything is written. */
  cold: boolean
  /** The version of its progress row: it differs after every write. */
  version: string
  /** The version of its own row. */
  ownVersion: string
}

interface Row {
  key: number
  id: string
  project_key: number
  owner_id: string
  stop_requested: boolean
  purged: boolean
  deleted: boolean
  cold: boolean
  version: string
  own_version: string
  tags: string[]
  tags_edited: boolean
  start_fields: Merged | null
  detail_fields: Merged | null
  ending: StoredEnd | null
  closing: Closing | null
  process: Process | null
  last_received_at: string | null
  last_live_at: string | null
  clock_skews: number[]
  gpu_low_samples: number
  first_seen_at: string
  last_seen_at: string
  n_events: number
  n_running: number
  n_completed: number
  n_failed: number
  n_stopped: number
  n_lost: number
  gpu_first_at: string | null
  gpu_last_at: string | null
  gpu_busy_at: string | null
}

const instant = (text: string | null): string | null => (text === null ? null : canonicalInstant(text))

/**
 * Locks the batches of these ids, in one order for all writers, and returns those that exist. Both rows are locked:
 * after a wait PostgreSQL re-reads only the rows that the statement locks; other rows keep their state from before.
 */
export async function lockBatches(tx: Tx, ids: string[]): Promise<LoadedBatch[]> {
  const rows = await tx<Row[]>`/* batches.lock */
    select b.key, b.id, b.project_key, b.owner_id, b.stop_requested_at is not null stop_requested,
      b.purged_at is not null purged, b.deleted_at is not null and b.purged_at is null deleted, b.cold_at is not null cold, b.tags, b.tags_edited, b.start_fields, b.detail_fields, b.ending,
      b.closing, b.process, p.last_received_at, p.last_live_at, p.clock_skews, p.gpu_low_samples,
      p.xmin::text as version, b.xmin::text as own_version, p.first_seen_at, p.last_seen_at, p.n_events, p.n_running, p.n_completed, p.n_failed, p.n_stopped, p.n_lost,
      p.gpu_first_at, p.gpu_last_at, p.gpu_busy_at
    from batches b join batch_progress p on p.batch_key = b.key
    where b.id = any (${ids}::text[])
    order by b.key
    for no key update of p, b`
  return rows.map((row) => ({
    ownerId: row.owner_id,
    purged: row.purged,
    deleted: row.deleted,
    cold: row.cold,
    version: row.version,
    ownVersion: row.own_version,
    state: {
      key: row.key,
      id: row.id,
      projectKey: row.project_key,
      stopRequested: row.stop_requested,
      tagsEdited: row.tags_edited,
      tags: row.tags,
      start: row.start_fields,
      details: row.detail_fields,
      ending: row.ending && withCounts(row.ending),
      closing: row.closing,
      process: row.process,
      lastReceivedAt: instant(row.last_received_at),
      lastLiveAt: instant(row.last_live_at),
      clockSkews: row.clock_skews,
      lastReceipt: null,
      firstSeenAt: canonicalInstant(row.first_seen_at),
      lastSeenAt: canonicalInstant(row.last_seen_at),
      events: row.n_events,
      jobs: {
        running: row.n_running,
        completed: row.n_completed,
        failed: row.n_failed,
        stopped: row.n_stopped,
        lost: row.n_lost,
      },
      gpu: {
        firstAt: instant(row.gpu_first_at),
        lastAt: instant(row.gpu_last_at),
        busyAt: instant(row.gpu_busy_at),
        lowSamples: row.gpu_low_samples,
      },
      changed: { summary: false, progress: false, counts: false },
    },
  }))
}

export interface NewBatch {
  id: string
  projectKey: number
  /** The user behind the token that sent its first event. */
  ownerId: string
  firstSeenAt: string
}

/** Creates rows for new batches; an id that another transaction inserted meanwhile is missing from the answer. */
export async function createBatches(tx: Tx, wanted: NewBatch[]): Promise<LoadedBatch[]> {
  const ordered = wanted.toSorted((a, b) => (a.id < b.id ? -1 : 1))
  const rows = await tx<{ key: number; id: string }[]>`/* batches.create */
    with made as (
      insert into batches (id, project_key, owner_id, status, started_at)
      select id, project_key, owner_id::uuid, 'running', started_at::timestamptz
      from unnest(
        ${ordered.map((b) => b.id)}::text[], ${ordered.map((b) => b.projectKey)}::int[],
        ${ordered.map((b) => b.ownerId)}::text[], ${ordered.map((b) => b.firstSeenAt)}::text[]
      ) with ordinality as b (id, project_key, owner_id, started_at, n)
      order by n
      on conflict (id) do nothing
      returning key, id, started_at),
    progress as (
      insert into batch_progress (batch_key, first_seen_at, last_seen_at)
      select key, started_at, started_at from made)
    select key, id from made`
  const keys = new Map(rows.map((row) => [row.id, row.key]))
  return ordered
    .filter((b) => keys.has(b.id))
    .map((b) => ({
      ownerId: b.ownerId,
      purged: false,
      deleted: false,
      cold: false,
      version: '',
      ownVersion: '',
      state: {
        key: entryOf(keys, b.id),
        id: b.id,
        projectKey: b.projectKey,
        stopRequested: false,
        tagsEdited: false,
        tags: [],
        start: null,
        details: null,
        ending: null,
        closing: null,
        process: null,
        ...unheard(),
        firstSeenAt: b.firstSeenAt,
        lastSeenAt: b.firstSeenAt,
        events: 0,
        jobs: { running: 0, completed: 0, failed: 0, stopped: 0, lost: 0 },
        gpu: { firstAt: null, lastAt: null, busyAt: null, lowSamples: 0 },
        changed: { summary: true, progress: true, counts: true },
      },
    }))
}

/** Writes the start and end of batches whose summary changed. */
export function saveBatchSummaries(batches: BatchState[]): SqlFragment {
  const rows = batches.map((b) => {
    const start = b.start?.values ?? {}
    const reported = b.ending?.outcome === 'running' ? null : b.ending
    const { group, ...details } = detailsOf(b)
    return {
      ...details,
      group_name: group,
      detail_fields: b.details,
      settled: b.traceback !== undefined,
      traceback: b.traceback,
      key: b.key,
      status: statusOf(b),
      started_at: startedAt(b),
      ended_at: endedAt(b),
      experiment_type: start.experiment_type,
      n_total: start.n_total,
      host: start.host,
      username: start.username,
      commit_sha: start.commit_sha,
      command: start.command,
      rerun_of: start.rerun_of,
      env_snapshot: b.start === null ? null : environmentOf(b),
      failure_reason: failureReasonOf(b),
      reported:
        reported === null
          ? null
          : {
              n_done: reported.counts?.n_done,
              n_failed: reported.counts?.n_failed,
              elapsed_s: reported.elapsed_s,
            },
      tags: b.tagsEdited ? null : sentTags(b),
      start_fields: b.start,
      ending: b.ending,
      closing: b.closing,
      process: b.process,
    }
  })
  return sqlFragment`
    update batches b set
      status = x.status, started_at = x.started_at, ended_at = x.ended_at, experiment_type = x.experiment_type,
      n_total = x.n_total, host = x.host, username = x.username, commit_sha = x.commit_sha, command = x.command,
      rerun_of = x.rerun_of, env_snapshot = x.env_snapshot, failure_reason = x.failure_reason, reported = x.reported,
      tags = coalesce(x.tags, b.tags), start_fields = x.start_fields, ending = x.ending, closing = x.closing, process = x.process,
      name = case when 'name' = any (b.edited) then b.name else x.name end,
      group_name = case when 'group' = any (b.edited) then b.group_name else x.group_name end,
      notes = case when 'notes' = any (b.edited) then b.notes else coalesce(x.notes, b.notes) end,
      config = x.config, summary = x.summary, detail_fields = x.detail_fields,
      traceback = case when x.settled then x.traceback else b.traceback end
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as x (
      key bigint, status text, started_at timestamptz, ended_at timestamptz, experiment_type text, n_total int,
      host text, username text, commit_sha text, command text, rerun_of text, env_snapshot jsonb,
      failure_reason text, reported jsonb, tags text[], start_fields jsonb, ending jsonb, closing jsonb, process jsonb,
      name text, group_name text, notes text, config jsonb, summary jsonb, detail_fields jsonb, settled boolean,
      traceback text)
    where b.key = x.key`
}

/** Writes the signs of life and the counts: one narrow row for each batch. */
export function saveBatchProgress(batches: BatchState[]): SqlFragment {
  const column = (value: (batch: BatchState) => string | number | null): string =>
    batches.map(value).join('\n')
  return sqlFragment`
    update batch_progress p set
      first_seen_at = x.first::timestamptz, last_seen_at = x.last::timestamptz, n_events = x.events::bigint,
      n_jobs = x.running::int + x.completed::int + x.failed::int + x.stopped::int + x.lost::int,
      n_running = x.running::int, n_completed = x.completed::int, n_failed = x.failed::int,
      n_stopped = x.stopped::int, n_lost = x.lost::int,
      gpu_first_at = nullif(x.gf, '')::timestamptz, gpu_last_at = nullif(x.gl, '')::timestamptz,
      gpu_busy_at = nullif(x.gb, '')::timestamptz, gpu_low_samples = x.low::int,
      last_received_at = nullif(x.received, '')::timestamptz, last_live_at = nullif(x.live, '')::timestamptz,
      clock_skews = x.skews::float8[]
    from rows from (
      string_to_table(${column((b) => b.key)}, chr(10)),
      string_to_table(${column((b) => b.firstSeenAt)}, chr(10)),
      string_to_table(${column((b) => b.lastSeenAt)}, chr(10)),
      string_to_table(${column((b) => b.events)}, chr(10)),
      string_to_table(${column((b) => b.jobs.running)}, chr(10)),
      string_to_table(${column((b) => b.jobs.completed)}, chr(10)),
      string_to_table(${column((b) => b.jobs.failed)}, chr(10)),
      string_to_table(${column((b) => b.jobs.stopped)}, chr(10)),
      string_to_table(${column((b) => b.jobs.lost)}, chr(10)),
      string_to_table(${column((b) => b.gpu.firstAt)}, chr(10)),
      string_to_table(${column((b) => b.gpu.lastAt)}, chr(10)),
      string_to_table(${column((b) => b.gpu.busyAt)}, chr(10)),
      string_to_table(${column((b) => b.gpu.lowSamples)}, chr(10)),
      string_to_table(${column((b) => b.lastReceivedAt)}, chr(10)),
      string_to_table(${column((b) => b.lastLiveAt)}, chr(10)),
      string_to_table(${column((b) => `{${b.clockSkews.join(',')}}`)}, chr(10))
    ) as x (key, first, last, events, running, completed, failed, stopped, lost, gf, gl, gb, low, received, live, skews)
    where p.batch_key = x.key::bigint`
}
