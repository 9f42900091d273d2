import { canonicalInstant } from '../db/instant.ts'
import { type Receipt, RIGHT_CLOCK_MS } from '../domain/events/index.ts'

/** A timestamp further ahead of the time of receipt is replaced by it (contract §10 "Time"). */
export const MAX_AHEAD_MS = 5 * 60_000
/** Canonical instants have years of four digits, from 1 on: PostgreSQL has no year 0. */
const EARLIEST_MS = Date.parse('0001-01-01T00:00:00Z')

/** A request's receipt, with the bounds for the timestamps of its events. Canonical instants. */
export interface ReceiptClock extends Receipt {
  /** A timestamp after this is too far ahead. */
  aheadAfter: string
  /** An event before this is no sign of life: it was queued, spilled or imported. */
  aliveFrom: string
  /** A timestamp between these is a sign of life, even if the sending time contradicts it. */
  rightFrom: string
  rightUntil: string
  /** A time of receipt for one event, later than for the event before, so that the order of arrival is kept. */
  next(): string
}

/** Facts from a request's headers. */
export interface RequestFacts {
  /** `X-Svc-Sent-At`: when it was sent, by the sender's clock. A value that is not an instant is ignored. */
  sentAt: string | undefined
  /** Whether `X-Svc-Sender` is `event-id`: the last 12 digits of each event id identify the process that created it. */
  namesSenders: boolean
}

/** Starts the receipt of a request. */
export type OpenReceipt = (facts: RequestFacts) => ReceiptClock

const SENT_AT = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/

/**
 * @param now the service's clock, which follows the database's (db/clock.ts)
 * @param staleAfterMin age in minutes above which an event is no sign of life, counted from its timestamp to its
 *   sending, or to its receipt if the time of sending is not known
 */
export function createReceiptClock(now: () => Date, staleAfterMin: number): OpenReceipt {
  let lastMicros = 0
  return ({ sentAt, namesSenders }) => {
    const atMs = now().getTime()
    const sentAtMs = instantIn(sentAt)
    const staleMs = staleAfterMin * 60_000
    return {
      at: canonical(atMs),
      atMs,
      sentAtMs,
      staleMs,
      namesSenders,
      aheadAfter: canonical(atMs + MAX_AHEAD_MS),
      aliveFrom: canonical((sentAtMs ?? atMs) - staleMs),
      rightFrom: canonical(atMs - RIGHT_CLOCK_MS),
      rightUntil: canonical(atMs + RIGHT_CLOCK_MS),
      next() {
        lastMicros = Math.max(lastMicros + 1, atMs * 1000)
        const micros = String(lastMicros % 1000).padStart(3, '0')
        return `${canonical(Math.floor(lastMicros / 1000)).slice(0, 23)}${micros}Z`
      },
    }
  }
}

const canonical = (ms: number): string => canonicalInstant(new Date(Math.max(EARLIEST_MS, ms)).toISOString())

function instantIn(text: string | undefined): number | null {
  if (text === undefined || !SENT_AT.test(text)) return null
  const ms = Date.parse(text.toUpperCase())
  return Number.isNaN(ms) || ms < EARLIEST_MS ? null : ms
}
