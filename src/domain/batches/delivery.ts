import type { Db } from '../../db/sql.ts'
import type { BatchStatus, Delivery } from './batch.ts'

/**
 * Whether everything that the reporter produced has arrived. `open` while the batch runs; `unknown` when it ended
 * without a receipt (killed, or another client). Late events, such as replayed spill files, complete it afterwards.
 */
export type DeliveryState = 'open' | 'complete' | 'incomplete' | 'unknown'

export interface DeliveryView {
  batch_id: string
  state: DeliveryState
  /** Events of the batch that are stored here, each counted once. */
  stored: number
  /** What the reporter counted when it sent its last event; null before that. */
  reported: Delivery | null
  /** Produced, not given up by the reporter, and not here. */
  missing: number | null
}

/** The delivery receipt of a batch that exists. */
export async function deliveryOf(db: Db, batch: { key: number; id: string }): Promise<DeliveryView> {
  const [row] = await db<
    { status: BatchStatus; stored: number; reported: Delivery | null }[]
  >`/* batches.delivery */
    select b.status, p.n_events stored, b.ending -> 'delivery' reported
    from batches b join batch_progress p on p.batch_key = b.key
    where b.key = ${batch.key}`
  const { status, stored, reported } = row ?? { status: 'running' as const, stored: 0, reported: null }
  const missing = reported === null ? null : Math.max(0, reported.produced - reported.dropped - stored)
  return { batch_id: batch.id, state: stateOf(status, missing), stored, reported, missing }
}

function stateOf(status: BatchStatus, missing: number | null): DeliveryState {
  if (status === 'running') return 'open'
  if (missing === null) return 'unknown'
  return missing === 0 ? 'complete' : 'incomplete'
}
