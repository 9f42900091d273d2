import { itemAt } from '../checked.ts'
import { Problem } from '../problem.ts'
import { textsOfObjects } from './elements.ts'
import { type Body, type Checked, checkEvent, parseBody } from './envelope.ts'
import { epochColumns } from './epochs.ts'
import type { GroupCommit } from './group.ts'
import type { Limiter } from './limit.ts'
import type { Outcome, Sender, Stored } from './outcome.ts'
import type { OpenReceipt, RequestFacts } from './receipt-clock.ts'

/**
 * The ten steps of specification §4.1:
 *  1 authenticate the token        authenticate.ts, before the body is read
 *  2 apply its rate limit          limit.ts
 *  3 validate the envelope         envelope.ts
 *  4 require schema_version 1.1    envelope.ts
 *  5 recognise repeats             admit.ts
 *  6 validate the data             envelope.ts; admit.ts refuses the event, unless it is a repeat
 *  7 store the raw event           claim.ts
 *  8 apply the side effects        apply.ts
 *  9 commit                        group.ts, stream/commit.ts
 * 10 dispatch notifications        notice.ts collects them; workers send them after the commit
 */
export interface Receiver {
  limiter: Limiter
  group: GroupCommit
  reception: OpenReceipt
  /** Events since the start, by result; without those of requests that were refused as a whole. */
  readonly counts: { stored: number; duplicate: number; refused: number }
}

export const MAX_EVENTS = 500

export interface Receipt<T> {
  body: T
  headers: Record<string, string>
}

/** POST /api/events. Throws the Problem of a refused event. */
export async function receiveEvent(
  receiver: Receiver,
  sender: Sender,
  bytes: Buffer | undefined,
  facts: RequestFacts,
): Promise<Receipt<Stored>> {
  const headers = receiver.limiter.take(sender.tokenId ?? sender.id, 1)
  const { value, text, suspect } = parseBody(bytes)
  const checked = checkEvent(value, { text, suspect, reception: receiver.reception(facts) })
  if (checked instanceof Problem) {
    receiver.counts.refused++
    throw checked
  }
  const [outcome] = await receiver.group.submit([{ checked, sender }])
  if (outcome !== undefined) count(receiver, outcome)
  if (outcome === undefined || 'problem' in outcome) throw outcome?.problem ?? new Problem('internal')
  return { body: outcome, headers }
}

/** POST /api/events/batch: an outcome per event, by position. A refused event does not affect the others. */
export async function receiveEvents(
  receiver: Receiver,
  sender: Sender,
  bytes: Buffer | undefined,
  facts: RequestFacts,
): Promise<Receipt<Outcome[]>> {
  const body = parseBody(bytes)
  const values = arrayOf(body)
  const headers = receiver.limiter.take(sender.tokenId ?? sender.id, values.length)
  // An element that is not an object is refused for that; its text is not needed.
  const texts = values.every(isObject) ? textsOfObjects(body.text) : []
  const { suspect } = body
  const reception = receiver.reception(facts)
  const checked = values.map((value, i) => checkEvent(value, { text: texts[i], suspect, reception }))
  return { headers, body: await submitAll(receiver, sender, checked) }
}

/** The same for epochs as columns (epochs.ts). */
export async function receiveEpochs(
  receiver: Receiver,
  sender: Sender,
  bytes: Buffer | undefined,
  facts: RequestFacts,
): Promise<Receipt<Outcome[]>> {
  const columns = epochColumns(parseBody(bytes))
  refuseTooMany(columns.count)
  const headers = receiver.limiter.take(sender.tokenId ?? sender.id, columns.count)
  const checked = columns.check(receiver.reception(facts))
  return { headers, body: await submitAll(receiver, sender, checked) }
}

async function submitAll(
  receiver: Receiver,
  sender: Sender,
  checked: readonly (Checked | Problem)[],
): Promise<Outcome[]> {
  const good = checked.filter((c): c is Checked => !(c instanceof Problem))
  const outcomes =
    good.length === 0 ? [] : await receiver.group.submit(good.map((c) => ({ checked: c, sender })))
  // All events have the same token: if it was revoked, the request is refused, not its events.
  for (const o of outcomes) if ('problem' in o && o.problem.code === 'unauthenticated') throw o.problem
  let next = 0
  const all = checked.map((c) => (c instanceof Problem ? { problem: c } : itemAt(outcomes, next++)))
  for (const outcome of all) count(receiver, outcome)
  return all
}

function count({ counts }: Receiver, outcome: Outcome): void {
  counts['problem' in outcome ? 'refused' : outcome.deduplicated ? 'duplicate' : 'stored']++
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

function arrayOf({ value }: Body): unknown[] {
  if (!Array.isArray(value)) {
    throw new Problem('invalid_envelope', {
      detail: 'The body must be an array of events',
      errors: [{ path: '', message: 'must be an array' }],
    })
  }
  refuseTooMany(value.length)
  return value
}

function refuseTooMany(count: number): void {
  if (count <= MAX_EVENTS) return
  throw new Problem('too_many_events', { detail: `${count} events in one request; ${MAX_EVENTS} at most` })
}
