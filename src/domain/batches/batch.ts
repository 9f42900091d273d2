import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../../checked.ts'
import { type Event, type Incoming, numberOf } from '../events/index.ts'
import { type Merged, mergeFields } from '../merge.ts'
import { type GpuEvidence, noticeGpu } from '../resources/index.ts'
import { deliveryIn } from './delivery-state.ts'
import { noteDetails, noteTags, tagsIn } from './details.ts'
import { type Heard, noteHeard, provesLife } from './heard.ts'
import { type Process, processIn } from './process.ts'
import { mergeEnds, type ReportedEnd } from './reported-end.ts'

export type BatchStatus = 'running' | 'completed' | 'failed' | 'stopped' | 'lost'
export type JobStatus = 'running' | 'completed' | 'failed' | 'stopped' | 'lost'
export type JobCounts = Record<JobStatus, number>

/** The failure reason of a batch that its reporter ended because a stop was requested (contract §4). */
export const STOP_REASON = 'stop_requested'

/** The state of a batch that events change. Times are canonical instants. This file does no I/O. */
export interface BatchState extends Heard {
  key: number
  id: string
  projectKey: number
  stopRequested: boolean
  tagsEdited: boolean
  tags: string[]
  /** The fields of batch_start events, merged; null before the first one. */
  start: Merged | null
  /** The latest of batch_start, batch_done and batch_failed; null before any of them. */
  ending: ReportedEnd | null
  /**
   * An end that was not reported: set by the service or by a user. Null if there is none, or once the reporter sent
   * one.
   */
  closing: Closing | null
  /** From the first batch_start of its owner that has it. */
  process: Process | null
  /** Name, group, notes, `config/…` and `summary/…`, field by field; null before any of them. */
  details: Merged | null
  /** The reason of the failure in `ending`, null if it is no failure; undefined keeps the stored value. */
  traceback?: string | null
  firstSeenAt: string
  lastSeenAt: string
  jobs: JobCounts
  /** Events stored, each once. */
  events: number
  gpu: GpuEvidence
  /** Which of the two rows have to be written. */
  changed: { summary: boolean; progress: boolean; counts: boolean }
}

/** An end set by the service (`lost`) or by a user (contract §10 "Lost"). */
export interface Closing {
  status: 'lost' | 'failed' | 'stopped'
  /** Canonical instant: an event created after it shows that the run continues. */
  at: string
  reason: string | null
}

/** Sorts before every instant, so that what the owner's own reporter sent wins over what others sent. */
const FOREIGN = '!'

/** Whether the owner's own reporter sent the field: a rerun never uses what others sent (contract §2). */
export const isFromOwner = (start: Merged | null, field: string): boolean =>
  start !== null &&
  Object.hasOwn(start.values, field) &&
  !(start.stamps?.[field] ?? start.stamp).startsWith(FOREIGN)

/** The fields that a later start contradicts. */
export interface StartConflict {
  /** `command`, `host`, and fields of the environment such as `env_snapshot.cwd`. */
  fields: string[]
  said: { command: string | null; cwd: string | null; host: string | null }
}

/**
 * Applies one event to its batch. The order of events does not matter (contract §1), but the first start that is applied
 * fixes `command`, `host` and the environment (contract §10), so that a leaked token cannot change what a rerun executes.
 * @param byOwner whether the batch's owner sent it
 * @returns the fields in which a later start differs; they are not changed
 */
export function applyToBatch(
  batch: BatchState,
  incoming: Incoming,
  byOwner: boolean,
): StartConflict | undefined {
  const { event, at } = incoming
  if (at < batch.firstSeenAt) {
    batch.firstSeenAt = at
    // A batch without its start event begins with the earliest event.
    if (batch.start === null) batch.changed.summary = true
  }
  if (at > batch.lastSeenAt) {
    batch.lastSeenAt = at
    if (batch.closing !== null) batch.changed.summary = true
  }
  batch.events++
  noteHeard(batch, incoming, () => isFromHost(batch, event))
  if (batch.closing !== null && provesLife(incoming, batch.closing.at)) {
    batch.closing = null
    batch.changed.summary = true
  }
  batch.changed.progress = true
  const rankedStamp = byOwner ? incoming.stamp : FOREIGN + incoming.stamp
  switch (event.event_type) {
    case 'batch_start':
      noteDetails(batch, event.data, rankedStamp)
      // An update of a running batch is no start.
      if (event.data.update === true) return noteTags(batch, tagsIn(event.data), rankedStamp)
      // A resumed run continues in another process, so the end of the first process does not end it.
      if (byOwner && isNewestStart(batch.start, rankedStamp)) batch.process = processIn(event.data)
      batch.changed.summary = true
      settle(batch, { outcome: 'running', stamp: incoming.stamp }, null)
      return applyStart(batch, startFields(event, at), rankedStamp, byOwner)
    case 'batch_done': {
      noteDetails(batch, event.data, rankedStamp)
      const ending = {
        outcome: 'completed' as const,
        stamp: incoming.stamp,
        counts: { stamp: incoming.stamp, n_done: event.data.n_done, n_failed: event.data.n_failed },
        elapsed_s: event.data.total_elapsed_s,
        ...endingDelivery(event.data),
      }
      settle(batch, ending, null)
      break
    }
    case 'batch_failed': {
      noteDetails(batch, event.data, rankedStamp)
      const ending = {
        outcome: 'failed' as const,
        stamp: incoming.stamp,
        reason: event.data.reason,
        elapsed_s: event.data.total_elapsed_s,
        ...endingDelivery(event.data),
      }
      settle(batch, ending, text(event.data.traceback) ?? null)
      break
    }
    case 'resource_snapshot':
      if (typeof event.job_id !== 'string') noticeGpu(batch.gpu, event.data, incoming)
      break
  }
  return undefined
}

/** Stored with the sender of the counts: a sender with a name has counts of its own (senders.ts). */
function endingDelivery(data: Record<string, unknown>): Pick<ReportedEnd, 'delivery'> {
  const counts = deliveryIn(data)
  if (counts === undefined || !counts.final) return {}
  const { delivery, sender } = counts
  return { delivery: sender === undefined ? delivery : { ...delivery, sender } }
}

/** Starts arrive in any order; `started_at` is that of the newest one that was applied. */
const isNewestStart = (start: Merged | null, rankedStamp: string): boolean =>
  start === null || rankedStamp > (start.stamps?.started_at ?? start.stamp)

/**
 * The first start fixes what a rerun executes, all fields at once; later ones add none. A start of the owner's own
 * reporter replaces those of an earlier start of another member.
 */
function applyStart(
  batch: BatchState,
  said: Record<string, unknown>,
  rankedStamp: string,
  byOwner: boolean,
): StartConflict | undefined {
  const { start } = batch
  if (start === null || (byOwner && !isFromOwner(start, 'started_at'))) {
    const kept = start && { ...start, values: withoutSettled(start.values) }
    batch.start = mergeFields(kept, said, rankedStamp)
    return undefined
  }
  batch.start = mergeFields(start, withoutSettled(said), rankedStamp)
  const names = new Set([...Object.keys(said), ...Object.keys(start.values)].filter(isSettledField))
  const fields = [...names]
    .filter((name) => !OF_THE_PROCESS.has(name) && !isDeepStrictEqual(said[name], start.values[name]))
    .map((name) => name.replace(/^env\//, 'env_snapshot.'))
    .sort()
  if (fields.length === 0) return undefined
  return {
    fields: fields.slice(0, MAX_CONFLICTING),
    said: {
      command: short(said['env/command']),
      cwd: short(said['env/cwd']),
      host: short(said.host),
    },
  }
}

/** This field differs with every process, also if a run is resumed with the same command. */
const OF_THE_PROCESS = new Set(['env/pid', 'env/env_names'])
const MAX_CONFLICTING = 50
const MAX_SHOWN = 4_096

const isSettledField = (name: string): boolean =>
  name === 'command' || name === 'host' || name.startsWith('env/')

/** A copy without a prototype, so that `__proto__` is a name like any other. */
function withoutSettled(values: Record<string, unknown>): Record<string, unknown> {
  const rest: Record<string, unknown> = Object.create(null)
  for (const [name, value] of Object.entries(values)) if (!isSettledField(name)) rest[name] = value
  return rest
}

const short = (value: unknown): string | null => text(value)?.slice(0, MAX_SHOWN).toWellFormed() ?? null

function settle(batch: BatchState, ending: ReportedEnd, traceback: string | null): void {
  const merged = mergeEnds(batch.ending, ending)
  if (merged === batch.ending) return
  batch.ending = merged
  batch.changed.summary = true
  if (merged.stamp !== ending.stamp) return
  // An end that the reporter sends takes precedence over one that was concluded without it.
  if (ending.outcome !== 'running') batch.closing = null
  batch.traceback = traceback
}

/** `running` until an end event. A failure is a stop if it says so or a stop was requested. */
export function statusOf(batch: Pick<BatchState, 'ending' | 'closing' | 'stopRequested'>): BatchStatus {
  const { ending, closing } = batch
  if (ending === null || ending.outcome === 'running') return closing?.status ?? 'running'
  if (ending.outcome === 'completed') return 'completed'
  return ending.reason === STOP_REASON || batch.stopRequested ? 'stopped' : 'failed'
}

/** The batch_start's time, else the earliest seen. */
export const startedAt = (batch: BatchState): string =>
  text(batch.start?.values.started_at) ?? batch.firstSeenAt

/**
 * When its end event was created; for a batch that was ended without one, its last sign of life (contract §10 "Lost").
 */
export function endedAt({ ending, closing, lastSeenAt }: BatchState): string | null {
  if (ending !== null && ending.outcome !== 'running') return ending.stamp.slice(0, 27)
  return closing === null ? null : lastSeenAt
}

/** When its unfinished jobs ended too, null while it runs: a job that reports later outlives its batch. */
export function jobsEndAt({ ending, closing }: Pick<BatchState, 'ending' | 'closing'>): string | null {
  if (ending !== null && ending.outcome !== 'running') return ending.stamp.slice(0, 27)
  return closing === null ? null : 'infinity'
}

/** Why it ended; null if no reason was given. */
export const failureReasonOf = ({ ending, closing }: BatchState): string | null =>
  ending !== null && ending.outcome !== 'running' ? (ending.reason ?? null) : (closing?.reason ?? null)

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const record = (value: unknown): Record<string, unknown> | undefined => (isRecord(value) ? value : undefined)

const isFromHost = ({ start }: BatchState, { source }: Event): boolean =>
  source.host === undefined || start?.values.host === undefined || source.host === start.values.host

/** The fields of one batch_start, under the names of the columns; a field that it does not have is absent. */
function startFields(
  event: Extract<Event, { event_type: 'batch_start' }>,
  at: string,
): Record<string, unknown> {
  const { data, source } = event
  const sent = record(data.env_snapshot)
  const environment: Record<string, unknown> = {
    commit: source.commit,
    command: data.command ?? source.command,
    cwd: text(data.cwd),
    hostname: source.host,
    ...sent,
  }
  const fields: Record<string, unknown> = {
    started_at: at,
    experiment_type: data.experiment_type,
    n_total: numberOf(data.n_total ?? data.n_total_jobs),
    host: source.host ?? text(environment.hostname),
    username: source.user,
    commit_sha: source.commit ?? text(environment.commit),
    command: data.command ?? source.command ?? text(environment.command),
    rerun_of: text(data.rerun_of),
    tags: tagsIn(data),
  }
  for (const [name, value] of Object.entries(environment)) fields[`env/${name}`] = value
  for (const name of Object.keys(fields)) if (fields[name] === undefined) delete fields[name]
  return fields
}

/** The environment of the batch's start (contract §4), for a rerun: these four fields, null if unknown. */
export function environmentOf(batch: Pick<BatchState, 'start'>): Record<string, unknown> {
  // Without a prototype, so that `__proto__` is a name like any other.
  const environment: Record<string, unknown> = Object.assign(Object.create(null), {
    commit: null,
    command: null,
    cwd: null,
    hostname: null,
  })
  for (const [name, value] of Object.entries(batch.start?.values ?? {})) {
    if (name.startsWith('env/')) environment[name.slice(4)] = value
  }
  return environment
}
