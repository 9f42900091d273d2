/** The reporter's own count of its events, sent with the last of them (goals: delivery receipt). */
export interface Delivery {
  produced: number
  accepted: number
  duplicate: number
  spilled: number
  dropped: number
  /** Refused by the service: they never come. */
  rejected: number
}

/** `data.delivery` of an end event, when it counts what was produced; other counts that it lacks are 0. */
export function deliveryIn(data: Record<string, unknown>): { delivery?: Delivery } {
  const sent = data.delivery as Record<string, unknown> | null | undefined
  const count = (name: keyof Delivery): number => {
    const value = sent?.[name]
    if (value === undefined && name !== 'produced') return 0
    return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : -1
  }
  const delivery: Delivery = {
    produced: count('produced'),
    accepted: count('accepted'),
    duplicate: count('duplicate'),
    spilled: count('spilled'),
    dropped: count('dropped'),
    rejected: count('rejected'),
  }
  return Object.values(delivery).includes(-1) ? {} : { delivery }
}

/**
 * Whether everything that the reporter produced has arrived. `open` while the batch runs; `unknown` when it ended
 * without a receipt (killed, or another client). Late events, such as replayed spill files, complete it afterwards.
 */
export type DeliveryState = 'open' | 'complete' | 'incomplete' | 'unknown'

/** What a receipt is made of. */
export interface Evidence {
  /** Whether the batch is over. */
  over: boolean
  /** Its events that are stored, each counted once. */
  stored: number
  /** The reporter's own count; null where it sent none. */
  reported: Pick<Delivery, 'produced' | 'dropped' | 'rejected'> | null
  /** Epochs that the steady pace of their jobs leads to expect and that are not stored. */
  missingEpochs: number
}

/**
 * The one place that says `complete` (contract §10 "Receipt"): only where all that was produced is stored, nothing was
 * dropped or rejected, and no epoch is missing in a steady row of others. Uneven steps are no gap: whether an event was
 * lost there, the counts say. Pure.
 * @returns also how many events are still to come; null where nobody counted
 */
export function receiptOf({ over, stored, reported, missingEpochs }: Evidence): {
  state: DeliveryState
  missing: number | null
} {
  const missing =
    reported === null ? null : Math.max(0, reported.produced - reported.dropped - reported.rejected - stored)
  if (!over) return { state: 'open', missing }
  if (reported === null) return { state: missingEpochs > 0 ? 'incomplete' : 'unknown', missing }
  const whole = missing === 0 && reported.dropped === 0 && reported.rejected === 0 && missingEpochs === 0
  return { state: whole ? 'complete' : 'incomplete', missing }
}
