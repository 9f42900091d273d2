import { randomUUID } from 'node:crypto'
import type { Sql, Tx } from '../db/sql.ts'
import {
  beginDigest,
  channelOf,
  type DigestEntry,
  digestOf,
  digestsDue,
  dropHeld,
  endDigest,
  type FootLink,
  type HeldMail,
  headlineOf,
  heldMails,
  line,
  type Message,
  readChannels,
  readFacts,
  recipientsOf,
  renderEmail,
  writeDelivery,
} from '../domain/notifications/index.ts'
import { write } from '../stream/commit.ts'
import { MailSender } from './mail-sender.ts'
import { baseUrlOf, type MailServices, pageOf } from './outgoing.ts'

/** Entries in a digest; the remaining mails are only counted. */
const MAX_ENTRIES = 20
const HOUR_MS = 3_600_000

/**
 * The cron task `mail_digests`: sends each recipient one mail for everything that the hourly limits held back. Like
 * other mails, a digest is marked before it is transmitted, so it is sent at most once.
 */
export async function sendDigests(services: MailServices, signal: AbortSignal): Promise<void> {
  const { config, sql, now } = services
  const hour = new Date(Math.floor(now().getTime() / HOUR_MS) * HOUR_MS).toISOString()
  for (const address of await digestsDue(sql, hour)) {
    if (signal.aborted) return
    const channel = channelOf(address)
    if (channel !== undefined) await writeChannelDigest(services, address, channel)
    else if (config.smtp !== undefined) await sendDigest(services, address, config.smtp)
  }
}

/** One message to a channel; the held ones count as sent once it is written. */
async function writeChannelDigest(
  { config, port, sql, writer, now }: MailServices,
  destination: string,
  channelId: string,
): Promise<void> {
  const held = await heldMails(sql, destination, now())
  const newest = held[0]
  if (newest === undefined) return
  const firings = held.map(({ firing }) => firing)
  const channel = (await readChannels(sql, newest.ruleId)).find(({ id }) => id === channelId)
  const message = await digestFor(sql, held, baseUrlOf(config, port()), now())
  await write(writer, async (tx) => {
    if (channel === undefined) await dropHeld(tx, destination, firings)
    else if (await beginDigest(tx, destination, firings)) {
      await writeDelivery(tx, newest.firing, channel, message, now())
      await endDigest(tx, destination, firings, 'sent')
    }
  })
}

async function sendDigest(
  { config, port, sql, writer, now, log }: MailServices,
  addressKey: string,
  smtp: { url: string; from: string },
): Promise<void> {
  const waiting = await heldMails(sql, addressKey, now())
  const tokens = await write(writer, (tx) => tokensOf(tx, addressKey, waiting, config.mail.allowedDomains))
  const blocked = waiting.filter(({ ruleId }) => !tokens.has(ruleId)).map(({ firing }) => firing)
  if (blocked.length > 0) await write(writer, (tx) => dropHeld(tx, addressKey, blocked))
  const included = waiting.filter(({ ruleId }) => tokens.has(ruleId))
  const first = included[0]
  if (first === undefined) return

  const home = baseUrlOf(config, port())
  const message = await digestFor(sql, included, home, now())
  const firings = included.map(({ firing }) => firing)
  const ends = [...new Map(included.map((one) => [one.project, `${home}/mail/${tokens.get(one.ruleId)}`]))]
  const foot = ends.map(([project, url]): FootLink => [`Stop mail of ${line(project, 128)}`, url])
  const sender = new MailSender(smtp, now)
  const outcome = await sender.send(
    {
      to: first.address,
      message: renderEmail(message, foot),
      messageId: `svc.digest.${randomUUID()}`,
      unsubscribe: `${home}/mail/${tokens.get(first.ruleId)}`,
    },
    () => write(writer, (tx) => beginDigest(tx, addressKey, firings)),
  )
  sender.close()
  if (outcome.state === 'cancelled') return
  await write(writer, (tx) =>
    endDigest(tx, addressKey, firings, outcome.state === 'later' ? 'waiting' : outcome.state),
  )
  if ('error' in outcome) {
    const about = { to: first.address, mails: included.length, why: outcome.error.message }
    log.warn(about, 'a digest of held mail could not be sent')
  }
}

async function digestFor(sql: Sql, held: readonly HeldMail[], home: string, now: Date): Promise<Message> {
  const entries: DigestEntry[] = []
  for (const { firing, project } of held.slice(0, MAX_ENTRIES)) {
    const facts = await readFacts(sql, firing)
    if (facts !== undefined)
      entries.push({ project, headline: headlineOf(facts, 'message'), url: pageOf(home, facts) })
  }
  return digestOf({ total: held.length, entries, at: now.toISOString(), home: `${home}/` })
}

/** The token of the recipient's links, for each rule that may still send them mail. */
async function tokensOf(
  tx: Tx,
  addressKey: string,
  waiting: readonly HeldMail[],
  domains: readonly string[],
): Promise<Map<string, string>> {
  const tokens = new Map<string, string>()
  for (const [ruleId, { projectKey }] of new Map(waiting.map((one) => [one.ruleId, one]))) {
    const recipients = await recipientsOf(tx, { ruleId, projectKey, batchKey: null }, domains)
    const mine = recipients.find((one) => one.address.toLowerCase() === addressKey && one.confirmed)
    if (mine !== undefined) tokens.set(ruleId, mine.token)
  }
  return tokens
}
