import { itemAt } from '../../checked.ts'
import { type Incoming, madeAt, type Receipt } from '../events/index.ts'

/**
 * When a batch was heard of, by the service's clock (contract §10 "Time"). What is kept here follows the order of
 * receipt, on purpose: that a late replay is no sign of life is what it is for. Pure.
 */
export interface Heard {
  /** Canonical instants: the last receipt of any event, and of the last that was a sign of life. */
  lastReceivedAt: string | null
  lastLiveAt: string | null
  /** The latest differences between receipt and sending, in seconds, the newest last. */
  clockSkews: number[]
  /** The request that the last event came in. */
  lastReceipt: Receipt | null
}

/** One delayed request among them does not move the middle one; a clock that was put right is known after three. */
const SKEWS_KEPT = 5
/** A timestamp that far ahead of its receipt counts as received (ingest/receipt-clock.ts), so nothing is left to correct. */
const SHOWN_AS_RECEIVED_S = -300
/** An event is made before it is sent; so much is left to clocks that are being put right. */
const MADE_BEFORE_SENT_S = 5

export const unheard = (): Heard => ({
  lastReceivedAt: null,
  lastLiveAt: null,
  clockSkews: [],
  lastReceipt: null,
})

/** @param sameHost whether the event came from the host that the batch runs on: ranks elsewhere have clocks of their own */
export function noteHeard(heard: Heard, { receipt, live }: Incoming, sameHost: () => boolean): void {
  if (live && (heard.lastLiveAt === null || receipt.at > heard.lastLiveAt)) heard.lastLiveAt = receipt.at
  if (receipt === heard.lastReceipt) return
  heard.lastReceipt = receipt
  if (heard.lastReceivedAt === null || receipt.at > heard.lastReceivedAt) heard.lastReceivedAt = receipt.at
  if (receipt.sentAtMs === null || !sameHost()) return
  const skew = (receipt.atMs - receipt.sentAtMs) / 1000
  heard.clockSkews = [...heard.clockSkews.slice(1 - SKEWS_KEPT), skew]
}

/** Whether a live event shows that what counted as over at `at` (a canonical instant) still runs. */
export const provesLife = (incoming: Incoming, at: string): boolean => incoming.live && madeAt(incoming) > at

/** How far the host's clock is behind the service's, in seconds: the middle of the latest; null where nothing is known. */
export function clockSkewS(skews: readonly number[]): number | null {
  if (skews.length === 0) return null
  const sorted = skews.toSorted((a, b) => a - b)
  return Math.round(itemAt(sorted, (sorted.length - 1) >> 1) * 1000) / 1000
}

/**
 * SQL for those skews of a batch that are its events' own; `progress` names its row of batch_progress. None where its
 * latest event was made after it was sent: then the sending time is by another clock than the events.
 */
export function eventSkews(progress: string): string {
  const of = (column: string): string => `${progress}.${column}`
  const latest = `${of('clock_skews')}[cardinality(${of('clock_skews')})]`
  const age = `extract(epoch from ${of('last_received_at')} - ${of('last_seen_at')})`
  return `case when ${latest} > ${age} + ${MADE_BEFORE_SENT_S} then '{}' else ${of('clock_skews')} end event_skews`
}

/**
 * What is added to the times of a batch's events to have them by the service's clock, in milliseconds.
 * @param skews as `eventSkews` reads them
 */
export function correctionMs(skews: readonly number[]): number {
  const skew = clockSkewS(skews)
  return skew === null || skew < SHOWN_AS_RECEIVED_S ? 0 : skew * 1000
}
