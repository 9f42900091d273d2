import { showInstant } from '../db/instant.ts'
import {
  type BatchState,
  endedAt,
  environmentOf,
  type JobStatus,
  startedAt,
  statusOf,
} from '../domain/batches/index.ts'
import { writeNumber } from '../domain/events/index.ts'
import { fieldsUnder, type JobState, jobEndedAt, jobStartedAt } from '../domain/jobs/index.ts'
import type { NewLogLine } from '../domain/logs/index.ts'
import { type NewSnapshot, snapshotValues } from '../domain/resources/index.ts'
import type {
  BatchChange,
  Change,
  EpochPoint,
  JobChange,
  LogLineChange,
  SnapshotChange,
} from '../stream/change.ts'
import type { Standing } from './admit.ts'
import type { Item } from './outcome.ts'

/** What a group did beside the summaries. */
export interface Effects {
  admitted: Item[]
  lines: { batch: BatchState; job: JobState; line: NewLogLine }[]
  snapshots: { batch: BatchState; job: JobState | null; snapshot: NewSnapshot }[]
  created: Set<BatchState>
  createdJobs: Set<JobState>
}

type Touched = Map<BatchState, { jobs: Map<JobState, JobStatus | null> }>

/** What the stream tells of a group: one change per channel (contract §6). */
export function changesOf(
  standing: Standing,
  touched: Touched,
  effects: Effects,
  settled: { batchKey: number; key: number; id: string; status: JobStatus }[],
): Change[] {
  const changes: Change[] = []
  const byProject = new Map<string, BatchChange[]>()
  const noticed: BatchChange[] = []
  for (const [batch, { jobs }] of touched) {
    const project = standing.projectsByKey.get(batch.projectKey)?.slug as string
    const summary = batchChange(batch, project)
    let listed = byProject.get(project)
    if (listed === undefined) {
      listed = []
      byProject.set(project, listed)
    }
    listed.push(summary)
    if (batch.changed.summary || batch.changed.counts) noticed.push(summary)
    const jobChanges = [...jobs.keys()].map(jobChange)
    const told = new Set(jobChanges.map((j) => j.key))
    for (const { batchKey, key, id, status } of settled) {
      if (batchKey === batch.key && !told.has(String(key))) jobChanges.push({ id, key: String(key), status })
    }
    changes.push({
      channel: `batch:${batch.id}`,
      type: 'summary',
      payload: { batch: summary, jobs: jobChanges },
    })
  }
  for (const [project, batches] of byProject) {
    changes.push({ channel: `project:${project}`, type: 'batches', payload: { batches } })
  }
  if (noticed.length > 0)
    changes.push({ channel: 'dashboard', type: 'batches', payload: { batches: noticed } })

  const points = new Map<string, EpochPoint[]>()
  for (const { checked } of effects.admitted) {
    const { event, series } = checked
    if (event.event_type !== 'job_epoch' || series === undefined) continue
    const values: EpochPoint['values'] = Object.create(null)
    for (const [name, value] of series) values[name] = writeNumber(value)
    append(points, event.batch_id, {
      job_id: event.job_id,
      epoch: event.data.epoch,
      timestamp: showInstant(checked.at),
      values,
    })
  }
  for (const [id, list] of points)
    changes.push({ channel: `metrics:${id}`, type: 'epochs', payload: { points: list } })

  const lines = new Map<string, LogLineChange[]>()
  for (const { batch, job, line } of effects.lines) {
    append(lines, batch.id, {
      db_id: line.dbId,
      timestamp: showInstant(line.at),
      job_id: job.id,
      level: line.level,
      line: line.line,
    })
  }
  for (const [id, list] of lines)
    changes.push({ channel: `logs:${id}`, type: 'lines', payload: { lines: list } })

  const snapshots = new Map<string, SnapshotChange[]>()
  for (const { batch, job, snapshot } of effects.snapshots) {
    const { columns, extra } = snapshotValues(snapshot.data)
    const values: SnapshotChange['values'] = Object.create(null)
    for (const [name, value] of [...columns, ...extra]) values[name] = writeNumber(value)
    append(snapshots, batch.id, {
      timestamp: showInstant(snapshot.at),
      job_id: job?.id ?? null,
      values,
      ...(snapshot.data.gpus === undefined ? {} : { gpus: snapshot.data.gpus }),
    })
  }
  for (const [id, list] of snapshots) {
    changes.push({ channel: `resources:${id}`, type: 'snapshots', payload: { snapshots: list } })
  }
  return changes
}

function append<V>(lists: Map<string, V[]>, key: string, value: V): void {
  const list = lists.get(key)
  if (list === undefined) lists.set(key, [value])
  else list.push(value)
}

const shown = (at: string | null): string | null => (at === null ? null : showInstant(at))

/** The sign of life alone, or with what the summary and the counts became. */
function batchChange(batch: BatchState, project: string): BatchChange {
  const change: BatchChange = { id: batch.id, project, last_seen_at: showInstant(batch.lastSeenAt) }
  if (batch.changed.counts || batch.changed.summary) {
    const { jobs, ending } = batch
    const started = jobs.running + jobs.completed + jobs.failed + jobs.stopped + jobs.lost
    const reported = ending?.outcome === 'completed' ? ending : undefined
    const total = (batch.start?.values.n_total as number | undefined) ?? null
    Object.assign(change, {
      n_done: reported?.n_done ?? jobs.completed,
      n_failed: reported?.n_failed ?? jobs.failed,
      n_running: jobs.running,
      slots: { total, started, finished: jobs.completed + jobs.failed + jobs.stopped },
    })
  }
  if (batch.changed.summary) {
    const start = batch.start?.values ?? {}
    Object.assign(change, {
      status: statusOf(batch),
      started_at: showInstant(startedAt(batch)),
      ended_at: shown(endedAt(batch)),
      n_total: start.n_total ?? null,
      experiment_type: start.experiment_type ?? null,
      host: start.host ?? null,
      user: start.username ?? null,
      commit: start.commit_sha ?? null,
      command: start.command ?? null,
      rerun_of: start.rerun_of ?? null,
      env_snapshot: batch.start === null ? null : environmentOf(batch),
      failure_reason: batch.ending?.outcome === 'failed' ? (batch.ending.reason ?? null) : null,
      tags: batch.tagsEdited ? batch.tags : (start.tags ?? batch.tags),
    })
  }
  return change
}

function jobChange(job: JobState): JobChange {
  const { progress } = job
  const change: JobChange = { id: job.id, key: String(job.key), last_seen_at: showInstant(job.lastSeenAt) }
  if (progress.changed.values) {
    const latest: Record<string, number | string> = Object.create(null)
    for (const [n, name] of progress.names.entries())
      latest[name] = writeNumber(progress.lastValue[n] as number)
    if (progress.maxEpoch !== null) latest.epoch = progress.maxEpoch
    Object.assign(change, { epochs: progress.epochs, latest })
  }
  if (job.changed.summary) {
    Object.assign(change, {
      status: job.status,
      started_at: showInstant(jobStartedAt(job)),
      ended_at: shown(jobEndedAt(job)),
      model: job.start?.values.model ?? null,
      dataset: job.start?.values.dataset ?? null,
      params: fieldsUnder(job.start, 'params/'),
      metrics: fieldsUnder(job.final, 'metrics/'),
      failure_reason: job.failureReason,
    })
  }
  return change
}
