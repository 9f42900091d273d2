import type { Logger } from 'pino'
import { required } from '../checked.ts'
import type { Config } from '../config.ts'
import type { Tx } from '../db/sql.ts'
import { reserveMail } from '../domain/addresses/index.ts'
import {
  type Attempt,
  type Channel,
  type ChannelRequest,
  type Due,
  destinationOf,
  dueDelivery,
  type Facts,
  holdMail,
  isQuiet,
  messageOf,
  openEndpoint,
  PICTURE_FILE,
  readFacts,
  recordAttempt,
  requestOf,
  takesPicture,
  writeDelivery,
} from '../domain/notifications/index.ts'
import type { TelemetryPool } from '../domain/telemetry.ts'
import { type Writer, write } from '../stream/commit.ts'
import { messageOf as textOf } from '../thrown.ts'
import { AddressRefused, type Answer, post } from './post.ts'
import { pictureOf } from './rule-picture.ts'

interface Services {
  config: Pick<Config, 'mail' | 'encryptionKey' | 'webhookPrivate'>
  sql: TelemetryPool
  writer: Writer
  now: () => Date
  log: Logger
}

/**
 * Sends messages of rules to webhooks and chats. A message is written once, with its budget, and then tried until the
 * receiver accepts it: at least once, with the same id each time.
 */
export function createChannelSender({ config, sql, writer, now, log }: Services) {
  async function attempt(due: Due): Promise<Attempt> {
    if (due.channelId === null) return { state: 'cancelled', error: 'the channel was removed' }
    const facts = due.message.type === 'digest' ? null : await readFacts(sql, due.firing)
    if (facts === undefined)
      return { state: 'cancelled', error: 'the rule was disabled, or the batch muted or deleted' }
    const endpoint = openEndpoint({ id: due.channelId, sealed: due.sealed }, config.encryptionKey)
    if (endpoint === undefined)
      return { state: 'refused', error: 'its secrets were encrypted with another SVC_ENCRYPTION_KEY' }
    try {
      const picture = facts && takesPicture(due.kind) ? await pictureOf({ sql, log }, facts) : null
      const delivery = { id: due.id, now: now() }
      const request = requestOf(due.kind, endpoint, due.message, delivery, picture ?? undefined)
      return outcomeOf(await post(await encoded(request), { allowPrivate: config.webhookPrivate }))
    } catch (error) {
      return { state: error instanceof AddressRefused ? 'refused' : 'waiting', error: textOf(error) }
    }
  }

  return {
    /** Writes the message of a firing for each of these channels, if budgets and quiet hours allow it; else a digest has it. */
    async write(facts: Facts, channels: readonly Channel[], page: string): Promise<void> {
      const message = messageOf(facts, page, 'message')
      for (const channel of channels) {
        const address = destinationOf(channel.id)
        await write(writer, async (tx) => {
          const of = { projectKey: facts.project.key, address }
          if (await isWritten(tx, facts.firing, address)) return
          const quiet = facts.trigger !== null && isQuiet(facts.rule.quiet, now())
          if (!quiet && (await reserveMail(tx, of, config.mail, now())))
            await writeDelivery(tx, facts.firing, channel, message, now())
          else await holdMail(tx, { firing: facts.firing, address }, now())
        })
      }
    },

    /** One attempt to deliver a message. */
    async deliver(id: string): Promise<void> {
      const due = await dueDelivery(sql, id)
      if (due === undefined) return
      const made = await attempt(due)
      const state = await write(writer, (tx) => recordAttempt(tx, due, made, now()))
      if (state !== 'sent')
        log.warn(
          { delivery: id, kind: due.kind, state, status: made.status, why: made.error },
          'a message to a channel was not accepted',
        )
    },
  }
}

/** The request that is sent: a form if there is a picture, with the JSON and the file. */
async function encoded({ url, headers, body, picture }: ChannelRequest) {
  if (picture === undefined) return { url, headers, body }
  const form = new FormData()
  form.set('payload_json', body)
  form.set('files[0]', new Blob([new Uint8Array(picture.png)], { type: 'image/png' }), PICTURE_FILE)
  const response = new Response(form)
  const type = required(response.headers.get('content-type'))
  return {
    url,
    headers: { ...headers, 'Content-Type': type },
    body: Buffer.from(await response.arrayBuffer()),
  }
}

/** Whether a repeated task wrote it already, or it is held for a digest. */
async function isWritten(tx: Tx, firing: number, address: string): Promise<boolean> {
  const rows = await tx`/* outbox.is_written */
    select from notification_mails where firing_id = ${firing} and address_key = ${address}
    union all select from mail_held where firing_id = ${firing} and address_key = ${address}`
  return rows.length > 0
}

/** 2xx is accepted. 410 means that the endpoint is gone for good; everything else may be mended within a day. */
function outcomeOf({ status, body, retryAfterS }: Answer): Attempt {
  if (status >= 200 && status < 300) return { state: 'sent', status, body }
  const redirect = status >= 300 && status < 400 ? 'redirects are not followed' : `HTTP ${status}`
  return { state: status === 410 ? 'refused' : 'waiting', status, body, error: redirect, retryAfterS }
}
