import type { Event, EventType } from './schema.ts'
import type { IgnoredValue, SeriesValues } from './series.ts'

/** A checked event on its way to the rows: what the nouns fold from. */
export interface Incoming<E extends Event = Event> {
  event: E
  /** The event as one line of JSON, stored as it is. */
  json: string
  /** Canonical instant of its timestamp. */
  at: string
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
export const eventTypeCode = (type: EventType): number => CODES.get(type) as number
