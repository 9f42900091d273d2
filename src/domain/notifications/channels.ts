import { randomUUID } from 'node:crypto'
import { instantOf } from '../../db/instant.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { refusedUrl } from '../public-address.ts'
import { seal, unseal } from '../seal.ts'
import type { ChannelKind, ChannelWish } from './channel-fields.ts'
import { type Endpoint, keyOfSecret, makeWebhookSecret, ntfyTarget } from './channel-formats.ts'

/** The most channels of a rule. */
export const MAX_CHANNELS = 10

export interface ChannelSettings {
  /** `SVC_ENCRYPTION_KEY` */
  key: string | undefined
  /** `SVC_WEBHOOK_PRIVATE` */
  allowPrivate: boolean
}

/** SQL: the channels of a row `r` of notification_rules, as the API shows them. */
export const CHANNELS_OF_RULE = `coalesce((
  select jsonb_agg(jsonb_build_object('id', c.id, 'kind', c.kind, 'url', c.shown ->> 'url',
    'has_secret', coalesce((c.shown ->> 'has_secret')::boolean, false)) order by c.place)
  from notification_channels c where c.rule_id = r.id),
  '[{"id": null, "kind": "mail", "url": null, "has_secret": false}]'::jsonb)`

/** The same of records of Prisma. */
export const channelsShown = (
  channels: readonly { id: string; kind: string; shown: { url?: string; has_secret?: boolean } }[],
): { id: string | null; kind: string; url: string | null; has_secret: boolean }[] =>
  channels.length === 0
    ? [{ id: null, kind: 'mail', url: null, has_secret: false }]
    : channels.map(({ id, kind, shown }) => ({
        id,
        kind,
        url: shown.url ?? null,
        has_secret: shown.has_secret ?? false,
      }))

interface Stored {
  id: string
  kind: ChannelKind
  sealed: Buffer | null
}

/**
 * Replaces the channels of a rule. A channel with the id of a stored one keeps what is not given.
 * @returns the webhook secrets that the service made, by channel
 * @throws Problem invalid_body
 */
export async function replaceChannels(
  tx: Tx,
  ruleId: string,
  wishes: readonly ChannelWish[],
  settings: ChannelSettings,
  now: Date,
): Promise<Map<string, string>> {
  const stored = await tx<Stored[]>`/* notifications.stored_channels */
    select id, kind, sealed from notification_channels where rule_id = ${ruleId} for update`
  const made = new Map<string, string>()
  const kept: string[] = []
  for (const [place, wish] of wishes.entries()) {
    const { id, endpoint, isNew } = settle(wish, place, stored, settings)
    if (kept.includes(id)) throw fault(place, 'id', 'is named twice')
    kept.push(id)
    if (endpoint !== undefined && wish.kind === 'webhook' && endpoint.secret === undefined) {
      endpoint.secret = makeWebhookSecret()
      made.set(id, endpoint.secret)
    }
    const sealed =
      endpoint && seal(Buffer.from(JSON.stringify(endpoint)), id, settings.key, 'channel secrets')
    const shown = endpoint && JSON.stringify(shownOf(wish.kind, endpoint))
    if (isNew) {
      await tx`/* notifications.add_channel */
        insert into notification_channels (id, rule_id, place, kind, shown, sealed, created_at)
        values (${id}, ${ruleId}, ${place}, ${wish.kind}, ${shown ?? '{}'}::text::jsonb, ${sealed ?? null}, ${instantOf(now)})`
    } else {
      await tx`/* notifications.keep_channel */
        update notification_channels set place = ${place},
          shown = coalesce(${shown ?? null}::text::jsonb, shown), sealed = coalesce(${sealed ?? null}::bytea, sealed)
        where id = ${id}`
    }
  }
  await tx`/* notifications.cancel_waiting */
    update notification_mails set state = 'cancelled', next_at = null, error = 'the channel was removed'
    where state = 'waiting' and channel_id in (
      select id from notification_channels where rule_id = ${ruleId} and not (id = any (${kept}::uuid[])))`
  await tx`/* notifications.drop_channels */
    delete from notification_channels where rule_id = ${ruleId} and not (id = any (${kept}::uuid[]))`
  return made
}

/** @returns endpoint: undefined for mail, and for a stored channel that does not change */
function settle(
  wish: ChannelWish,
  place: number,
  stored: readonly Stored[],
  settings: ChannelSettings,
): { id: string; endpoint: Endpoint | undefined; isNew: boolean } {
  const { kind } = wish
  const old = wish.id === undefined ? undefined : stored.find((one) => one.id === wish.id)
  if (wish.id !== undefined && old?.kind !== kind)
    throw fault(place, 'id', `is not a ${kind} channel of this rule`)
  const id = old?.id ?? randomUUID()
  const isNew = old === undefined
  if (kind === 'mail') return { id, endpoint: undefined, isNew }
  const given = { url: wish.url, secret: wish.secret, topic: wish.topic, token: wish.token }
  if (old !== undefined && Object.values(given).every((value) => value === undefined))
    return { id, endpoint: undefined, isNew }
  const before = old && openEndpoint(old, settings.key)
  const url = given.url ?? before?.url
  if (url === undefined) throw fault(place, 'url', `is needed for the kind ${kind}`)
  const why = refusedUrl(url, settings.allowPrivate)
  if (why !== undefined) throw fault(place, 'url', why)
  // A token that was set for one host must not be sent to another one.
  const sameHost = before !== undefined && new URL(before.url).origin === new URL(url).origin
  const endpoint: Endpoint = {
    url,
    secret: given.secret ?? before?.secret,
    topic: given.topic ?? (given.url === undefined ? before?.topic : undefined),
    token: given.token ?? (sameHost ? before.token : undefined),
  }
  refuseUnusable(place, kind, endpoint)
  return { id, endpoint, isNew }
}

function refuseUnusable(place: number, kind: ChannelKind, endpoint: Endpoint): void {
  const { secret, topic, token } = endpoint
  if (secret !== undefined) {
    if (kind !== 'webhook') throw fault(place, 'secret', 'belongs to the kind webhook alone')
    if (keyOfSecret(secret) === undefined)
      throw fault(place, 'secret', 'must be whsec_ and 16 to 64 bytes in base64')
  }
  if (kind !== 'ntfy') {
    if (topic !== undefined) throw fault(place, 'topic', 'belongs to the kind ntfy alone')
    if (token !== undefined) throw fault(place, 'token', 'belongs to the kind ntfy alone')
  } else if (!/^[-_A-Za-z0-9]{1,64}$/.test(topicOf(endpoint))) {
    throw fault(place, 'topic', 'must be 1 to 64 letters, digits, - or _, in the URL or as topic')
  }
}

function topicOf(endpoint: Endpoint): string {
  try {
    return ntfyTarget(endpoint).topic
  } catch {
    return ''
  }
}

function fault(place: number, field: string, message: string): Problem {
  const path = `channels.${place}.${field}`
  return new Problem('invalid_body', { detail: `${path}: ${message}`, errors: [{ path, message }] })
}

/** The part of an endpoint that may be shown. The addresses of chats are secrets, except their hosts. */
export function shownOf(kind: ChannelKind, { url: text, secret, token }: Endpoint): Record<string, unknown> {
  const url = new URL(text)
  const query = url.search === '' ? '' : '?…'
  const isSecret = kind === 'slack' || kind === 'discord' || kind === 'teams'
  return {
    url: isSecret ? `${url.origin}/…` : `${url.origin}${url.pathname}${query}`,
    has_secret: isSecret || secret !== undefined || token !== undefined,
  }
}

/** The address and secrets of a channel; undefined if they were encrypted with another key. */
export function openEndpoint(
  { id, sealed }: { id: string; sealed: Buffer | null },
  key: string | undefined,
): Endpoint | undefined {
  const opened = sealed === null ? undefined : unseal(sealed, id, key, 'channel secrets')
  return opened === undefined ? undefined : (JSON.parse(opened.toString()) as Endpoint)
}

export interface Channel {
  id: string
  kind: ChannelKind
  shown: { url?: string }
  sealed: Buffer | null
}

/** The channels of a rule; mail if it names none. */
export async function readChannels(db: Db, ruleId: string): Promise<Channel[]> {
  const rows = await db<Channel[]>`/* notifications.channels */
    select id, kind, shown, sealed from notification_channels where rule_id = ${ruleId} order by place`
  return rows.length > 0 ? rows : [MAIL_ONLY]
}

const MAIL_ONLY: Channel = { id: '', kind: 'mail', shown: {}, sealed: null }
