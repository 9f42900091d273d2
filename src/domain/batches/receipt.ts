import { isRecord } from '../../checked.ts'
/** The reporter's own count of its events (goals: delivery receipt). */
export interface Delivery {
  produced: number
  accepted: number
  duplicate: number
  spilled: number
  dropped: number
  /** Refused by the service: they never come. */
  rejected: number
}

/** A sender as it names itself: the last 12 digits of its event ids. */
const SENDER = /^[0-9a-f]{12}$/

/** Counts as an event carries them. */
export interface SentCounts {
  delivery: Delivery
  /** Whose they are; absent where the event does not say. */
  sender?: string
  /** Whether the sender counted at its end. Otherwise it counted while it ran, and more events may have followed. */
  final: boolean
}

/**
 * `data.delivery` of a sender's last event, or `data.delivery_so_far` of an earlier one, when it counts what was
 * produced; counts that it lacks are 0. Undefined where there is none.
 */
export function deliveryIn(data: Record<string, unknown>): SentCounts | undefined {
  const final = data.delivery !== undefined
  const counts = final ? data.delivery : data.delivery_so_far
  const sent = isRecord(counts) ? counts : undefined
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
  if (Object.values(delivery).includes(-1)) return undefined
  const sender = sent?.sender
  return { delivery, final, ...(typeof sender === 'string' && SENDER.test(sender) && { sender }) }
}

/**
 * Whether everything that was produced has arrived. `open` while the batch runs; `unknown` when it ended and one of its
 * senders did not count at its end (killed, or another client). Late events, such as replayed spill files, complete it afterwards.
 */
export type DeliveryState = 'open' | 'complete' | 'incomplete' | 'unknown'

/** What is known of one process that reported the batch, or of all that do not name themselves. */
export interface SenderEvidence {
  /** Its events that are stored, each counted once. */
  stored: number
  /** Its own latest counts; null where it sent none. */
  reported: Pick<Delivery, 'produced' | 'dropped' | 'rejected'> | null
  /** Whether it counted at its end; false where it sent no counts, or only some while it ran. */
  final: boolean
  /** Whether it is one process; otherwise events whose sender is not known. */
  named: boolean
}

/** What a receipt is made of. */
export interface Evidence {
  /** Whether the batch is over. */
  over: boolean
  senders: readonly SenderEvidence[]
  /** Epochs that the steady pace of their jobs leads to expect and that are not stored. */
  missingEpochs: number
}

/** Events of a sender that are still to come: produced, not given up, and not stored; null where it did not count. */
export const missingOf = ({
  stored,
  reported,
}: Pick<SenderEvidence, 'stored' | 'reported'>): number | null =>
  reported === null ? null : Math.max(0, reported.produced - reported.dropped - reported.rejected - stored)

/**
 * The one place that says `complete` (contract §10 "Receipt"): only where every sender counted at its end, all
 * that each produced is stored, nothing was dropped or rejected, and no epoch is missing in a steady row of others. What one sender stored
 * never makes up for what another lost. Uneven steps are no gap: whether an event was lost there, the counts say. Pure.
 * @returns also how many events are still to come; null if no sender counted
 */
export function receiptOf({ over, senders, missingEpochs }: Evidence): {
  state: DeliveryState
  missing: number | null
} {
  const counted = senders.filter(({ reported }) => reported !== null)
  const missing = counted.length === 0 ? null : sum(counted, (one) => missingOf(one) ?? 0)
  if (!over) return { state: 'open', missing }
  const lost = sum(counted, ({ reported }) => (reported?.dropped ?? 0) + (reported?.rejected ?? 0))
  // Events that came through an older release of the service or from another run's file have no sender.
  const unassigned = sum(senders, ({ named, reported, stored }) => (named || reported ? 0 : stored))
  if (lost > 0 || missingEpochs > 0 || (missing ?? 0) > unassigned) return { state: 'incomplete', missing }
  const whole = senders.length > 0 && senders.every(({ final }) => final) && missing === 0
  return { state: whole ? 'complete' : 'unknown', missing }
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((total, one) => total + of(one), 0)
