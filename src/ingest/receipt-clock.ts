import { canonicalInstant } from '../db/instant.ts'
import { type Receipt, RIGHT_CLOCK_MS } from '../domain/events/index.ts'

/** A timestamp further ahead of its receipt counts as its time of receipt (contract §10 "Time"). */
export const MAX_AHEAD_MS = 5 * 60_000
/** Canonical instants have years of four digits, from 1 on: PostgreSQL has no year 0. */
const EARLIEST_MS = Date.parse('0001-01-01T00:00:00Z')

/** A receipt, with the bounds that the timestamps of its events are held against. Canonical instants. */
export interface ReceiptClock extends Receipt {
  /** A later timestamp is too far ahead. */
  aheadAfter: string
  /** An earlier timestamp is no sign of life: it was queued, spilled or copied from elsewhere. */
  aliveFrom: string
  /** Timestamps from here on, not too far ahead, are a sign of life, also where the sending time says otherwise. */
  rightFrom: string
  rightUntil: string
  /** The time of receipt for one event: later for each, so that the order of arrival is kept. */
  next(): string
}

/** What a request says of itself in its headers. */
export interface RequestFacts {
  /** `X-Svc-Sent-At`: when it was sent, by the sender's clock. Anything that is no instant counts as none. */
  sentAt: string | undefined
  /** Whether `X-Svc-Sender` is `event-id`: the last 12 digits of each event id name the process that made the event. */
  namesSenders: boolean
}

/** Opens the reception of a request. */
export type OpenReceipt = (facts: RequestFacts) => ReceiptClock

const SENT_AT = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)$/

/**
 * @param now the service's clock, which follows the database's (db/clock.ts)
 * @param staleAfterMin minutes after which an event is no sign of life any more, counted from its making to its
 *   sending, or to its receipt where the sender does not say when it sent it
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
