import { instantOf } from '../../db/instant.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Caller, Known } from '../caller.ts'
import { shapeOf, type ViewOf } from '../field.ts'
import { enqueueMessage } from '../outbox.ts'
import { isUuid } from '../uuid.ts'
import type { RequestKind } from './channel-formats.ts'
import type { Channel } from './channels.ts'
import { ruleMessageFields } from './firing-fields.ts'
import type { Message } from './message.ts'
import { administeredRule } from './reads.ts'

/** Messages of rules to channels, one row for each message and destination, and their attempts. */

/** A message is tried again for this long after it was written. */
const KEEP_TRYING_MS = 24 * 3_600_000
/** Pauses before the next attempts; the last one repeats. */
const PAUSES_S = [5, 30, 120, 300, 900, 1_800, 3_600, 7_200, 14_400]
/** The part of an answer that is stored. */
const MAX_BODY = 1_000

/** The pause after so many failed attempts, with up to a tenth added so that messages spread out. */
export const pauseAfter = (attempts: number, random: number): number =>
  (PAUSES_S[Math.min(attempts, PAUSES_S.length) - 1] ?? 5) * (1 + random / 10)

/** The name of a channel among the destinations of messages; addresses of mail have an @ instead. */
export const destinationOf = (channelId: string): string => `channel:${channelId}`
export const channelOf = (destination: string): string | undefined =>
  destination.startsWith('channel:') ? destination.slice('channel:'.length) : undefined

/**
 * Writes a message to a channel and enqueues its first attempt.
 * @returns false if it was written before, or the rule was deleted in the meantime
 */
export async function writeDelivery(
  tx: Tx,
  firing: number,
  channel: Pick<Channel, 'id' | 'kind' | 'shown'>,
  message: Message,
  now: Date,
): Promise<boolean> {
  const destination = destinationOf(channel.id) + (message.type === 'digest' ? ':digest' : '')
  const at = instantOf(now)
  const [row] = await tx<{ id: string }[]>`/* notifications.write_delivery */
    insert into notification_mails
      (firing_id, address_key, state, at, kind, channel_id, target, message, attempts, next_at, created_at)
    select f.id, ${destination}, 'waiting', ${at}::timestamptz, ${channel.kind}, ${channel.id}::uuid,
      ${channel.shown.url ?? null}, ${JSON.stringify(message)}::text::jsonb, 0, ${at}::timestamptz, ${at}::timestamptz
    from notification_firings f where f.id = ${firing} for key share
    on conflict do nothing returning id`
  if (row === undefined) return false
  await enqueueAttempt(tx, row.id, channel.id)
  return true
}

const enqueueAttempt = (tx: Tx, id: string, channelId: string, at?: string): Promise<void> =>
  enqueueMessage(
    tx,
    { delivery: id },
    { key: `delivery:${id}`, queue: `channel:${channelId}`, ...(at !== undefined && { at }) },
  )

/** A message that is due. */
export interface Due {
  id: string
  firing: number
  projectKey: number
  kind: RequestKind
  channelId: string | null
  sealed: Buffer | null
  message: Message
  attempts: number
  createdAt: string
}

/** Undefined if it does not wait for an attempt. */
export async function dueDelivery(db: Db, id: string): Promise<Due | undefined> {
  const [row] = await db<Due[]>`/* notifications.due */
    select m.id, m.firing_id firing, r.project_key "projectKey", m.kind, m.channel_id "channelId", c.sealed, m.message,
      m.attempts, m.created_at "createdAt"
    from notification_mails m
    join notification_firings f on f.id = m.firing_id
    join notification_rules r on r.id = f.rule_id
    left join notification_channels c on c.id = m.channel_id
    where m.id = ${id} and m.state = 'waiting' and m.message is not null`
  return row
}

/** The end of one attempt. */
export interface Attempt {
  state: 'sent' | 'refused' | 'cancelled' | 'waiting'
  status?: number
  body?: string
  error?: string
  /** What the receiver asked for. */
  retryAfterS?: number | undefined
}

/**
 * Records an attempt, and enqueues the next one if the message still waits; after a day it has failed.
 * @returns the state that was recorded
 */
export async function recordAttempt(
  tx: Tx,
  due: Due,
  { state, status, body, error, retryAfterS = 0 }: Attempt,
  now: Date,
): Promise<string> {
  const attempts = due.attempts + 1
  const pauseS = Math.max(pauseAfter(attempts, Math.random()), Math.min(retryAfterS, 3_600))
  const next = new Date(now.getTime() + pauseS * 1000)
  const over = next.getTime() > Date.parse(due.createdAt) + KEEP_TRYING_MS
  const wanted = state !== 'waiting' ? state : over ? 'failed' : 'waiting'
  const nextAt = wanted === 'waiting' ? instantOf(next) : null
  const changed = await tx`/* notifications.record_attempt */
    update notification_mails set state = ${wanted}, attempts = ${attempts}, at = ${instantOf(now)}, next_at = ${nextAt}::timestamptz,
      status = ${status ?? null}, body = ${storable(body)}, error = ${error ?? null}
    where id = ${due.id} and state = 'waiting' returning 1`
  if (changed.length > 0 && nextAt !== null && due.channelId !== null)
    await enqueueAttempt(tx, due.id, due.channelId, nextAt)
  return wanted
}

const storable = (body: string | undefined): string | null =>
  body === undefined ? null : body.replaceAll('\0', '\ufffd').slice(0, MAX_BODY).toWellFormed()

/** A message in the API. */
export const deliveryShape = shapeOf(ruleMessageFields)
export type DeliveryView = ViewOf<typeof ruleMessageFields>

export interface DeliveryPosition {
  firing: number
  id: string
}

/** The messages of a rule, newest first, with their positions. */
export async function listDeliveries(
  db: Db,
  ruleId: string,
  page: { limit: number; after: DeliveryPosition | undefined; id?: string },
): Promise<(DeliveryView & { firing: number })[]> {
  const { limit, after, id } = page
  return db<(DeliveryView & { firing: number })[]>`/* notifications.deliveries */
    select m.firing_id firing, m.id, m.kind, m.channel_id, coalesce(m.target, m.address_key) target,
      m.message ->> 'subject' subject, b.id batch_id, f.trigger is null as test, m.state, m.attempts, m.status, m.body,
      m.error, coalesce(m.created_at, f.fired_at) created_at, case when m.attempts > 0 then m.at end last_attempt_at,
      m.next_at next_attempt_at
    from notification_firings f
    join notification_mails m on m.firing_id = f.id
    left join batches b on b.key = f.batch_key
    where f.rule_id = ${ruleId} and ${id === undefined ? db`true` : db`m.id = ${id}::uuid`}
      and ${after === undefined ? db`true` : db`(f.id, m.id) < (${after.firing}, ${after.id}::uuid)`}
    order by f.id desc, m.id desc limit ${limit}`
}

/** @throws Problem rule_not_found, forbidden */
export async function deliveriesOf(
  db: Db,
  caller: Caller,
  ruleId: string,
  page: { limit: number; after: DeliveryPosition | undefined },
): Promise<(DeliveryView & { firing: number })[]> {
  const { rule } = await administeredRule(db, caller, ruleId)
  return listDeliveries(db, rule.id, page)
}

/**
 * Sends a message to its channel again, with the same content and the same id. Mail is never sent twice.
 * @throws Problem rule_not_found, forbidden, delivery_not_found, delivery_not_repeatable
 */
export async function sendAgain(
  tx: Tx,
  actor: Known,
  ruleId: string,
  id: string,
  now: Date,
): Promise<DeliveryView> {
  const { rule } = await administeredRule(tx, actor, ruleId)
  const [found] = isUuid(id) ? await listDeliveries(tx, rule.id, { limit: 1, after: undefined, id }) : []
  if (found === undefined) throw new Problem('delivery_not_found')
  if (found.kind === 'mail' || found.channel_id === null) throw new Problem('delivery_not_repeatable')
  const at = instantOf(now)
  // A new day of attempts; the next one does not wait for the pause of the last.
  await tx`/* notifications.send_again */
    update notification_mails set state = 'waiting', next_at = ${at}, created_at = ${at}
    where id = ${id}`
  await enqueueAttempt(tx, id, found.channel_id)
  const [row] = await listDeliveries(tx, rule.id, { limit: 1, after: undefined, id })
  return row ?? found
}
