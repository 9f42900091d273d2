import { type SqlFragment, sqlFragment } from '../../db/sql-fragment.ts'
import type { Incoming } from '../events/index.ts'
import type { Delivery } from './delivery-fields.ts'
import { deliveryIn } from './delivery-state.ts'

/**
 * What a group of events adds to the counts of one sender: a process that reports a batch (contract §10 "Receipt").
 * Several may report the same batch, each with its own losses, so stored events are compared with the counts of each
 * sender.
 */
export interface SenderCounts {
  batchKey: number
  sender: string
  host: string | null
  /** How many events of the sender the group stores. */
  events: number
  /** The sender's latest counts in the group; null if it has none. `so_far`: not sent at its end. */
  delivery: (Delivery & { so_far?: true }) | null
}

/** Collects the counts of a group from its events. */
export function createSenderTally(): {
  add(batchKey: number, incoming: Incoming, eventId: string): void
  readonly counts: SenderCounts[]
} {
  const counts = new Map<string, SenderCounts>()
  const of = (batchKey: number, sender: string): SenderCounts => {
    const key = `${batchKey} ${sender}`
    let found = counts.get(key)
    if (found === undefined) {
      found = { batchKey, sender, host: null, events: 0, delivery: null }
      counts.set(key, found)
    }
    return found
  }
  return {
    add(batchKey, { event, receipt }, eventId) {
      if (receipt.namesSenders) {
        const own = of(batchKey, senderIn(eventId))
        own.events++
        own.host ??= event.source.host ?? null
      }
      if (event.event_type === 'job_epoch' || event.event_type === 'log_line') return
      const sent = deliveryIn(event.data)
      if (sent?.sender === undefined) return
      const reported = of(batchKey, sent.sender)
      if (sent.delivery.produced >= (reported.delivery?.produced ?? 0)) {
        reported.delivery = sent.final ? sent.delivery : { ...sent.delivery, so_far: true }
      }
    },
    get counts() {
      return [...counts.values()]
    },
  }
}

const SENDER_DIGITS = 12
const senderIn = (eventId: string): string => eventId.slice(-SENDER_DIGITS).toLowerCase()

/**
 * Adds them to the stored counts. The report with the most produced events is kept: that number never decreases, so the
 * order of arrival does not matter.
 */
export function saveSenders(counts: readonly SenderCounts[]): SqlFragment {
  const rows = counts.map(({ batchKey, ...rest }) => ({ batch_key: batchKey, ...rest }))
  return sqlFragment`
    insert into batch_senders as s (batch_key, sender, host, n_events, delivery)
    select batch_key, sender, host, events, delivery
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb)
      as x (batch_key bigint, sender text, host text, events bigint, delivery jsonb)
    on conflict (batch_key, sender) do update set
      n_events = s.n_events + excluded.n_events,
      host = coalesce(s.host, excluded.host),
      delivery = case when coalesce((excluded.delivery ->> 'produced')::bigint, -1) >= coalesce((s.delivery ->> 'produced')::bigint, -1)
        then coalesce(excluded.delivery, s.delivery) else s.delivery end`
}
