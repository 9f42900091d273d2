import { entryOf } from '../../checked.ts'
import { canonicalInstant } from '../../db/instant.ts'
import type { Db, Fragment } from '../../db/sql.ts'
import type { Event, EventType } from './schema.ts'
import type { IgnoredValue, SeriesValues } from './series.ts'

/** When and how the request that an event came in was received (contract §10 "Time"). One object a request. */
export interface Receipt {
  /** Canonical instant, by the service's clock. */
  at: string
  /** The same in milliseconds since 1970. */
  atMs: number
  /** When the sender sent the request, by the sender's clock, in milliseconds since 1970; null where it did not say. */
  sentAtMs: number | null
  /** An event that was older than this when it was sent is no sign of life. */
  staleMs: number
  /** Whether the last 12 digits of each event id name the process that made the event. */
  namesSenders: boolean
}

/** A checked event, from which the modules update their rows. */
export interface Incoming<E extends Event = Event> {
  event: E
  /** The event as one line of JSON, stored unchanged. */
  json: string
  /** Canonical instant of its timestamp, or of its receipt where the timestamp lies too far ahead of that. */
  at: string
  receipt: Receipt
  /** Whether it is a sign of life, and no replay of what happened long before. */
  live: boolean
  /** Its place among events that say the same thing (domain/merge.ts). */
  stamp: string
  /** Given when it is stored. */
  dbId: number
  /** Of a job_epoch: what is kept of `sentSeries` once the event is admitted. */
  series: SeriesValues | undefined
  /** Of a job_epoch: every value with a valid name. */
  sentSeries: SeriesValues | undefined
  /** Values of a job_epoch whose names no series can have; undefined where there are none. */
  ignored: IgnoredValue[] | undefined
}

/**
 * A timestamp that near to its receipt is by a clock that is right. Where the sending time calls the event stale all the
 * same, that time is by another clock, and says nothing about the event.
 */
export const RIGHT_CLOCK_MS = 60_000

/**
 * When a live event was made, as a canonical instant of the service's clock. Its age when sent does not depend on
 * the sender's clock being right; without a sending time, the time of receipt is used.
 */
export function madeAt({ event, receipt }: Pick<Incoming, 'event' | 'receipt'>): string {
  if (receipt.sentAtMs === null) return receipt.at
  const ms = Date.parse(event.timestamp)
  const ageMs = Math.max(0, receipt.sentAtMs - ms)
  if (ageMs > receipt.staleMs && Math.abs(receipt.atMs - ms) <= RIGHT_CLOCK_MS) return receipt.at
  return canonicalInstant(new Date(receipt.atMs - ageMs).toISOString())
}

/** As stored in events.type; the numbers never change. */
export const EVENT_TYPES = [
  'batch_start',
  'batch_done',
  'batch_failed',
  'job_start',
  'job_epoch',
  'job_done',
  'job_failed',
  'resource_snapshot',
  'log_line',
] as const satisfies readonly EventType[]

const CODES = new Map<EventType, number>(EVENT_TYPES.map((type, code) => [type, code]))
export const eventTypeCode = (type: EventType): number => entryOf(CODES, type)

/** The codes of these types for `e.type in (…)`, written into the statement: partial indexes name them as well. */
export const typeCodes = (db: Db, ...types: EventType[]): Fragment =>
  db.unsafe(types.map(eventTypeCode).join(', '))
