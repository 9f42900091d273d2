import { entryOf } from '../../checked.ts'
import { canonicalInstant } from '../../db/instant.ts'
import type { Db, Fragment } from '../../db/sql.ts'
import type { SentMedia } from './media.ts'
import type { Event, EventType } from './schema.ts'
import type { IgnoredValue, SeriesValues } from './series.ts'

/** When and how the request of an event was received (contract §10 "Time"). One object for each request. */
export interface Receipt {
  /** Canonical instant, by the service's clock. */
  at: string
  /** The same in milliseconds since 1970. */
  atMs: number
  /** When the request was sent, by the sender's clock, in milliseconds since 1970; null if the sender did not say. */
  sentAtMs: number | null
  /** An event that was older than this when it was sent does not count as a sign of life. */
  staleMs: number
  /** Whether the last 12 digits of each event id identify the process that created the event. */
  namesSenders: boolean
}

/** A validated event, as the modules apply it. */
export interface Incoming<E extends Event = Event> {
  event: E
  /** The text of the event as one line of JSON, stored unchanged. */
  json: string
  /** Canonical instant: its timestamp, or the time of its receipt if the timestamp is too far ahead of that. */
  at: string
  receipt: Receipt
  /** Whether it is a sign of life and not a replay of something long past. */
  live: boolean
  /** Its rank among events that set the same field (domain/merge.ts). */
  stamp: string
  /** Set when it is stored. */
  dbId: number
  /** For a job_epoch: the values of `sentSeries` that are stored, once the event is admitted. */
  series: SeriesValues | undefined
  /** For a job_epoch: every value with a valid name. */
  sentSeries: SeriesValues | undefined
  /** For a job_epoch: its media; undefined if it has none. */
  media: SentMedia[] | undefined
  /** For a job_epoch: values with invalid names; undefined if there are none. */
  ignored: IgnoredValue[] | undefined
}

/**
 * A timestamp this close to its receipt is from a correct clock. If the sending time says that the event is old, that
 * time is from another clock and is ignored.
 */
export const RIGHT_CLOCK_MS = 60_000

/**
 * When a live event was created, as a canonical instant of the service's clock. Its age when sent does not depend on
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
