import { isRecord } from '../../checked.ts'
import type { Delivery, DeliveryView } from './delivery-fields.ts'

/** The id of a sender: the last 12 digits of its event ids. */
const SENDER = /^[0-9a-f]{12}$/

/** The counts in an event. */
export interface SentCounts {
  delivery: Delivery
  /** Their sender; absent if the event does not say. */
  sender?: string
  /** Whether the sender counted at its end; if not, it counted while it ran, and more events may have followed. */
  final: boolean
}

/**
 * `data.delivery` of a sender's last event, or `data.delivery_so_far` of an earlier one; missing counts are 0.
 * Undefined if neither has `produced`.
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

/** One process that reported the batch, or all senders without an id together. */
export interface SenderEvidence {
  /** Its stored events, each counted once. */
  stored: number
  /** Its latest counts; null if it sent none. */
  reported: Pick<Delivery, 'produced' | 'dropped' | 'rejected'> | null
  /** Whether it counted at its end; false if it sent no counts, or only while it ran. */
  final: boolean
  /** Whether it is one process; if not, these are events with an unknown sender. */
  named: boolean
}

/** The input of the state. */
export interface Evidence {
  /** Whether the batch has ended. */
  over: boolean
  senders: readonly SenderEvidence[]
  /** Missing epochs, as expected by the steady pace of their jobs. */
  missingEpochs: number
}

/** Pending events of a sender: produced, not dropped or rejected, and not stored; null if it did not count. */
export const missingOf = ({
  stored,
  reported,
}: Pick<SenderEvidence, 'stored' | 'reported'>): number | null =>
  reported === null ? null : Math.max(0, reported.produced - reported.dropped - reported.rejected - stored)

/**
 * The counts without the rejected events that were stored after all: `svc-reporter sync --rejected` sends them after the
 * sender's last count. Only a process that counted at its end cannot have stored other events since.
 */
export function withLateArrivals<T extends Pick<Delivery, 'produced' | 'dropped' | 'rejected'>>(
  { stored, final, named }: Pick<SenderEvidence, 'stored' | 'final' | 'named'>,
  reported: T,
): T {
  if (!named || !final) return reported
  const late = stored - (reported.produced - reported.dropped - reported.rejected)
  return { ...reported, rejected: Math.max(0, reported.rejected - Math.max(0, late)) }
}

/**
 * Computes the state of a delivery report (contract §10 "Receipt"): `open` while the batch runs; `unknown` if it ended and one of
 * its senders did not count at its end (it was killed, or is another client). Late events, such as replayed spill files,
 * complete it afterwards. It is `complete` only if every sender counted at its end,
 * everything that each produced is stored, nothing was dropped or rejected, and no epoch is missing from a steady
 * sequence. Stored events of one sender never replace lost ones of another. Uneven steps are no gap: there, the counts
 * show whether an event was lost. Pure.
 * @returns also how many events are pending; null if no sender counted
 */
export function deliveryStateOf({ over, senders, missingEpochs }: Evidence): {
  state: DeliveryView['state']
  missing: number | null
} {
  const counted = senders.filter(({ reported }) => reported !== null)
  const missing = counted.length === 0 ? null : sum(counted, (one) => missingOf(one) ?? 0)
  if (!over) return { state: 'open', missing }
  const lost = sum(counted, ({ reported }) => (reported?.dropped ?? 0) + (reported?.rejected ?? 0))
  // Events of an older release, or of the file of another run, have no sender.
  const unassigned = sum(senders, ({ named, reported, stored }) => (named || reported ? 0 : stored))
  if (lost > 0 || missingEpochs > 0 || (missing ?? 0) > unassigned) return { state: 'incomplete', missing }
  const whole = senders.length > 0 && senders.every(({ final }) => final) && missing === 0
  return { state: whole ? 'complete' : 'unknown', missing }
}

const sum = <T>(all: readonly T[], of: (one: T) => number): number =>
  all.reduce((total, one) => total + of(one), 0)
