import { type JobStatus, STOP_REASON } from '../batches/index.ts'
import type { Event, Incoming } from '../events/index.ts'
import { sentBy } from '../field.ts'
import { type Merged, mergeFields } from '../merge.ts'
import { newProgress, type SeriesProgress, unchanged } from '../metrics/index.ts'
import { type GpuEvidence, noticeGpu } from '../resources/index.ts'
import { jobFields } from './job-fields.ts'

/** The state of a job that events change. Times are canonical instants. This file does no I/O. */
export interface JobState {
  key: number
  batchKey: number
  id: string
  status: JobStatus
  /** The latest of job_start, job_done and job_failed; its stamp is empty before any of them. */
  outcome: 'running' | 'completed' | 'failed'
  outcomeStamp: string
  failureReason: string | null
  /** The reason of the failure in its outcome, null if it is no failure; undefined keeps the stored value. */
  traceback?: string | null
  /** The fields of job_start events, and those of job_done and job_failed events, merged. */
  start: Merged | null
  final: Merged | null
  firstSeenAt: string
  lastSeenAt: string
  progress: SeriesProgress
  gpu: GpuEvidence
  /** `seen`: its first sign of life or its GPU evidence, beyond the last sign of life. */
  changed: { summary: boolean; seen: boolean }
}

export const newJob = (batchKey: number, id: string, firstSeenAt: string): JobState => ({
  key: 0,
  batchKey,
  id,
  status: 'running',
  outcome: 'running',
  outcomeStamp: '',
  failureReason: null,
  start: null,
  final: null,
  firstSeenAt,
  lastSeenAt: firstSeenAt,
  progress: newProgress(),
  gpu: { firstAt: null, lastAt: null, busyAt: null, lowSamples: 0 },
  changed: { summary: true, seen: true },
})

/** Applies one event to the job; the order of events does not matter. domain/metrics applies epochs. */
export function applyToJob(job: JobState, incoming: Incoming): void {
  const { event, at, stamp } = incoming
  if (at < job.firstSeenAt) {
    job.firstSeenAt = at
    job.changed.seen = true
    if (job.start === null) job.changed.summary = true
  }
  if (at > job.lastSeenAt) job.lastSeenAt = at
  switch (event.event_type) {
    case 'job_start':
      job.start = mergeFields(job.start, startFields(event, at), stamp)
      settle(job, 'running', stamp)
      job.changed.summary = true
      break
    case 'job_done':
      job.final = mergeFields(job.final, finalFields(event.data), stamp)
      settle(job, 'completed', stamp)
      job.changed.summary = true
      break
    case 'job_failed':
      job.final = mergeFields(job.final, { elapsed_s: event.data.elapsed_s }, stamp)
      settle(job, 'failed', stamp, event.data)
      job.changed.summary = true
      break
    case 'resource_snapshot':
      noticeGpu(job.gpu, event.data, incoming)
      job.changed.seen = true
      break
  }
}

function settle(
  job: JobState,
  outcome: JobState['outcome'],
  stamp: string,
  failure: { reason?: string; traceback?: unknown } = {},
): void {
  if (stamp <= job.outcomeStamp) return
  job.outcome = outcome
  job.outcomeStamp = stamp
  job.failureReason = failure.reason ?? null
  job.traceback = typeof failure.traceback === 'string' ? failure.traceback : null
}

/**
 * A job whose end is not reported when its batch ends is lost (contract §4), unless it reports later.
 * @param jobsEndAt of its batch
 */
export function jobStatusOf(job: JobState, jobsEndAt: string | null): JobStatus {
  if (job.outcome === 'completed') return 'completed'
  if (job.outcome === 'failed') return job.failureReason === STOP_REASON ? 'stopped' : 'failed'
  return jobsEndAt === null || job.lastSeenAt > jobsEndAt ? 'running' : 'lost'
}

export const jobStartedAt = (job: JobState): string =>
  (job.start?.values.started_at as string) ?? job.firstSeenAt
export const jobEndedAt = (job: JobState): string | null =>
  job.outcome === 'running' ? null : job.outcomeStamp.slice(0, 27)

const STARTED = new Map(sentBy(jobFields, 'job_start').map((field) => [field.name, field]))

/** `params` = every field of job_start that is no field of a job (contract §4). */
function startFields(
  event: Extract<Event, { event_type: 'job_start' }>,
  at: string,
): Record<string, unknown> {
  const fields: Record<string, unknown> = { started_at: at }
  for (const [name, value] of Object.entries(event.data)) {
    const isField = STARTED.get(name)?.accepts(value) === true
    fields[isField ? name : `params/${name}`] = value
  }
  return fields
}

function finalFields(data: Extract<Event, { event_type: 'job_done' }>['data']): Record<string, unknown> {
  const fields: Record<string, unknown> = {}
  if (data.elapsed_s !== undefined) fields.elapsed_s = data.elapsed_s
  for (const { name, accepts } of sentBy(jobFields, 'job_done'))
    if (accepts(data[name])) fields[name] = data[name]
  if (data.train_epochs !== undefined) fields.train_epochs = data.train_epochs
  for (const [name, value] of Object.entries(data.metrics ?? {})) fields[`metrics/${name}`] = value
  return fields
}

/** The fields under a prefix, without it: `params/lr` → `lr`. */
export function fieldsUnder(merged: Merged | null, prefix: 'params/' | 'metrics/'): Record<string, unknown> {
  const fields: Record<string, unknown> = Object.create(null)
  for (const [name, value] of Object.entries(merged?.values ?? {})) {
    if (name.startsWith(prefix)) fields[name.slice(prefix.length)] = value
  }
  return fields
}

/** The job after the changes are written. */
export function settled(job: JobState): JobState {
  const { progress } = job
  job.changed = { summary: false, seen: false }
  delete job.traceback
  if (progress.changed.chunks) progress.packedTo = null
  progress.changed = unchanged()
  return job
}
