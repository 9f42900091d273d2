import { randomUUID } from 'node:crypto'
import { Problem } from '../problem.ts'
import { checkEvent } from './envelope.ts'
import type { Item, Sender } from './outcome.ts'
import type { Receiver } from './receive.ts'

/** An event that the service makes itself, such as the start of a sweep's trial. */
export interface OwnEvent {
  event_type: string
  batch_id: string
  job_id: string | null
  project: string
  data: Record<string, unknown>
  /** `now` if absent. */
  timestamp?: string
}

/**
 * Stores events of the service as those of reporters are stored. The caller has checked that `user` may do this.
 * @throws Problem of the first event that is refused; overloaded, unavailable
 */
export async function storeOwnEvents(
  receiver: Pick<Receiver, 'group' | 'reception'>,
  user: Pick<Sender, 'id' | 'role'>,
  events: readonly OwnEvent[],
  now: Date,
): Promise<void> {
  if (events.length === 0) return
  const sender: Sender = { id: user.id, role: user.role, tokenId: null, commandId: null, batchId: null }
  const reception = receiver.reception({ sentAt: undefined, namesSenders: false })
  const items = events.map(({ project, ...event }): Item => {
    const value = {
      event_id: randomUUID(),
      schema_version: '1.1',
      timestamp: now.toISOString(),
      source: { project },
      ...event,
    }
    const checked = checkEvent(value, { suspect: true, reception })
    if (checked instanceof Problem) throw checked
    return { checked, sender }
  })
  for (const outcome of await receiver.group.submit(items)) {
    if ('problem' in outcome) throw outcome.problem
  }
}
