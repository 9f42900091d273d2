import { itemAt } from '../../checked.ts'
import { type Incoming, madeAt, type Receipt } from '../events/index.ts'

/**
 * When events of a batch were received, by the service's clock (contract §10 "Time"). These fields depend on the order
 * of receipt on purpose: a late replay must not count as a sign of life. Pure.
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

/** The median ignores one delayed request, and follows a corrected clock after three. */
const SKEWS_KEPT = 5
/**
 * A timestamp this far ahead of its receipt is stored as the time of receipt (ingest/receipt-clock.ts), so no
 * correction is needed.
 */
const SHOWN_AS_RECEIVED_S = -300
/** An event is created before it is sent; this much is tolerated for clocks that are being corrected. */
const MADE_BEFORE_SENT_S = 5

export const unheard = (): Heard => ({
  lastReceivedAt: null,
  lastLiveAt: null,
  clockSkews: [],
  lastReceipt: null,
})

/** @param sameHost whether the event came from the batch's host: other hosts have clocks of their own */
export function noteHeard(heard: Heard, { receipt, live }: Incoming, sameHost: () => boolean): void {
  if (live && (heard.lastLiveAt === null || receipt.at > heard.lastLiveAt)) heard.lastLiveAt = receipt.at
  if (receipt === heard.lastReceipt) return
  heard.lastReceipt = receipt
  if (heard.lastReceivedAt === null || receipt.at > heard.lastReceivedAt) heard.lastReceivedAt = receipt.at
  if (receipt.sentAtMs === null || !sameHost()) return
  const skew = (receipt.atMs - receipt.sentAtMs) / 1000
  heard.clockSkews = [...heard.clockSkews.slice(1 - SKEWS_KEPT), skew]
}

/** Whether a live event shows that a run that counted as ended at `at` (a canonical instant) continues. */
export const provesLife = (incoming: Incoming, at: string): boolean => incoming.live && madeAt(incoming) > at

/** How far the host's clock is behind the service's, in seconds: the median of the latest; null if unknown. */
export function clockSkewS(skews: readonly number[]): number | null {
  if (skews.length === 0) return null
  const sorted = skews.toSorted((a, b) => a - b)
  return Math.round(itemAt(sorted, (sorted.length - 1) >> 1) * 1000) / 1000
}

/**
 * SQL for the clock skews that apply to a batch's events; `progress` names its row of batch_progress. None if its
 * latest event was created after it was sent: then the sending time is by another clock than the events.
 */
export function eventSkews(progress: string): string {
  const of = (column: string): string => `${progress}.${column}`
  const latest = `${of('clock_skews')}[cardinality(${of('clock_skews')})]`
  const age = `extract(epoch from ${of('last_received_at')} - ${of('last_seen_at')})`
  return `case when ${latest} > ${age} + ${MADE_BEFORE_SENT_S} then '{}' else ${of('clock_skews')} end`
}

/** The same for a record of Prisma. */
export const eventSkewsOf = (
  skews: readonly number[],
  receivedAt: string | null,
  seenAt: string,
): readonly number[] => {
  const latest = skews.at(-1)
  if (latest === undefined || receivedAt === null) return skews
  const ageS = (Date.parse(receivedAt) - Date.parse(seenAt)) / 1000
  return latest > ageS + MADE_BEFORE_SENT_S ? [] : skews
}

/**
 * The correction of the times of a batch's events to the service's clock, in milliseconds.
 * @param skews as `eventSkews` reads them
 */
export function correctionMs(skews: readonly number[]): number {
  const skew = clockSkewS(skews)
  return skew === null || skew < SHOWN_AS_RECEIVED_S ? 0 : skew * 1000
}
