import { entryOf } from '../checked.ts'
import type { Tx } from '../db/sql.ts'
import type { StartedBatch } from '../domain/agents/index.ts'
import {
  applyToBatch,
  type BatchState,
  createSenderTally,
  jobsEndAt,
  type SenderCounts,
  type SentConflict,
  statusOf,
} from '../domain/batches/index.ts'
import type { SeriesValues } from '../domain/events/index.ts'
import { applyToJob, type JobState, jobStatusOf } from '../domain/jobs/index.ts'
import { type NewLogLine, streamOf } from '../domain/logs/index.ts'
import type { NewMedia } from '../domain/media/index.ts'
import { type EpochPlace, type EpochRow, foldEpoch, loadEpochs, mayExist } from '../domain/metrics/index.ts'
import type { Happening } from '../domain/notifications/index.ts'
import type { NewSnapshot } from '../domain/resources/index.ts'
import type { Claim } from './claim.ts'
import type { Item } from './outcome.ts'
import type { GroupState } from './state.ts'
import type { NewTemplate } from './templates.ts'
import { createMetricWatch } from './watch-metrics.ts'

/** How the group changed a batch and its jobs. */
export interface Touched {
  wasLost: boolean
  /** `jobsEndAt` of the batch, before and after. */
  jobsEndedAt: string | null
  jobsEndAt: string | null
  /** Job → its status before; null for a new one. */
  jobs: Map<JobState, JobState['status'] | null>
}

/** The result of folding a group: everything to write. */
export interface Folded {
  touched: Map<BatchState, Touched>
  claims: Claim[]
  /** Templates of the payloads that may not be stored yet. */
  templates: NewTemplate[]
  senders: SenderCounts[]
  lines: NewLogLine[]
  snapshots: NewSnapshot[]
  media: NewMedia[]
  /** New epochs with one event, and epochs that were merged from several events. */
  epochs: { alone: EpochRow[]; merged: EpochRow[] }
  /** batch_start events that contradict an earlier one of their batch. */
  conflicts: SentConflict[]
  /** Batches that are reruns, by their batch_start or by their token. */
  started: StartedBatch[]
  /** Metrics that crossed the threshold of a rule. */
  crossed: Happening[]
}

/** Folds the admitted events into the states of their batches and jobs, and gives each event its db_id. */
export async function foldGroup(
  tx: Tx,
  admitted: Item[],
  state: GroupState,
  createdJobs: Set<JobState>,
): Promise<Folded> {
  const touched: Folded['touched'] = new Map()
  const lines: NewLogLine[] = []
  const snapshots: NewSnapshot[] = []
  const media: NewMedia[] = []
  const claims: Claim[] = []
  const templates = new Map<string, NewTemplate>()
  const tally = createSenderTally()
  const started: StartedBatch[] = []
  const conflicts: SentConflict[] = []
  for (const { checked, sender } of admitted) {
    const { event, at } = checked
    const dbId = state.ids.next()
    checked.dbId = dbId
    const { state: batch, ownerId } = entryOf(state.batches, event.batch_id)
    const byOwner = sender.id === ownerId
    let inBatch = touched.get(batch)
    if (inBatch === undefined) {
      const end = jobsEndAt(batch)
      inBatch = {
        wasLost: statusOf(batch) === 'lost',
        jobsEndedAt: end,
        jobsEndAt: end,
        jobs: new Map(),
      }
      touched.set(batch, inBatch)
    }
    const conflict = applyToBatch(batch, checked, byOwner)
    // A start that the service makes itself says nothing of a process, so it contradicts none.
    if (conflict !== undefined && sender.tokenId !== null) {
      conflicts.push({ ...conflict, batchKey: batch.key, tokenId: sender.tokenId, userId: sender.id })
    }
    if (event.event_type === 'batch_start' && byOwner) {
      const { commandId } = sender
      if (commandId !== null || batch.start?.values.rerun_of !== undefined) {
        started.push({ key: batch.key, commandId })
      }
    }
    let job: JobState | null = null
    if (typeof event.job_id === 'string') {
      job = jobIn(state, event.batch_id, event.job_id)
      if (!inBatch.jobs.has(job)) inBatch.jobs.set(job, createdJobs.has(job) ? null : job.status)
      applyToJob(job, checked)
    }
    const place = { batchKey: batch.key, jobKey: job?.key ?? null, dbId, at }
    if (event.event_type === 'log_line' && job !== null) {
      const { level, line, stream } = event.data
      lines.push({ ...place, jobKey: job.key, level: level.toLowerCase(), stream: streamOf(stream), line })
    } else if (event.event_type === 'job_epoch' && job !== null) {
      const at = { batchKey: batch.key, jobKey: job.key, step: event.data.epoch, at: checked.at }
      for (const one of checked.media ?? []) media.push({ ...one, ...at, stamp: checked.stamp })
    } else if (event.event_type === 'resource_snapshot') {
      snapshots.push({ ...place, data: event.data })
    }
    tally.add(batch.key, checked, checked.eventId)
    const packed = state.templates.pack(batch.key, checked, templates)
    claims.push({
      incoming: checked,
      eventId: checked.eventId,
      batchKey: batch.key,
      jobKey: place.jobKey,
      packed,
    })
  }
  const { epochs, crossed } = await foldEpochs(tx, admitted, state)
  for (const [batch, inBatch] of touched) {
    inBatch.jobsEndAt = jobsEndAt(batch)
    settleStatuses(batch, inBatch)
  }
  return {
    touched,
    claims,
    templates: [...templates.values()],
    senders: tally.counts,
    lines,
    snapshots,
    media,
    epochs,
    conflicts,
    started,
    crossed,
  }
}

const jobIn = (state: GroupState, batchId: string, jobId: string): JobState =>
  entryOf(entryOf(state.jobs, batchId), jobId)

/** Gives the named jobs their status, and the batch its counts of them. */
function settleStatuses(batch: BatchState, { jobsEndAt, jobs }: Touched): void {
  for (const [job, before] of jobs) {
    job.status = jobStatusOf(job, jobsEndAt)
    if (job.status === before) continue
    job.changed.summary = true
    if (before !== null) batch.jobs[before]--
    batch.jobs[job.status]++
    batch.changed.counts = true
  }
}

/**
 * Folds the job_epoch events. An epoch above the job's highest is new, and so is one in a known gap. Only for the others
 * the stored row is read.
 */
async function foldEpochs(
  tx: Tx,
  admitted: Item[],
  state: GroupState,
): Promise<Pick<Folded, 'epochs' | 'crossed'>> {
  const events: { job: JobState; epoch: number; checked: Item['checked'] }[] = []
  const asked: EpochPlace[] = []
  for (const { checked } of admitted) {
    const { event } = checked
    if (event.event_type !== 'job_epoch') continue
    const job = jobIn(state, event.batch_id, event.job_id)
    const { epoch } = event.data
    if (mayExist(job.progress, epoch)) asked.push({ batchKey: job.batchKey, jobKey: job.key, epoch })
    events.push({ job, epoch, checked })
  }
  if (events.length === 0) return { epochs: { alone: [], merged: [] }, crossed: [] }
  const rows = new Map<number, Map<number, EpochRow>>()
  const put = (row: EpochRow): void => {
    let ofJob = rows.get(row.jobKey)
    if (ofJob === undefined) {
      ofJob = new Map()
      rows.set(row.jobKey, ofJob)
    }
    ofJob.set(row.epoch, row)
  }
  if (asked.length > 0) {
    for (const row of await loadEpochs(tx, asked)) put(row)
  }
  const watch = createMetricWatch(state)
  const written = new Set<EpochRow>()
  for (const { job, epoch, checked } of events) {
    const { at, dbId, stamp, series } = checked
    const standingRow = rows.get(job.key)?.get(epoch)
    const seen = watch?.before(job, checked, standingRow)
    const row = foldEpoch(job.progress, { batchKey: job.batchKey, jobKey: job.key }, standingRow, {
      epoch,
      at,
      dbId,
      stamp,
      series: series as SeriesValues,
    })
    if (row === null) continue
    if (seen !== undefined) watch?.after(seen, row)
    if (row !== standingRow) put(row)
    written.add(row)
  }
  const toWrite = [...written]
  return {
    epochs: {
      alone: toWrite.filter((row) => row.stamps === null),
      merged: toWrite.filter((row) => row.stamps !== null),
    },
    crossed: watch === undefined ? [] : await watch.crossed(tx),
  }
}
