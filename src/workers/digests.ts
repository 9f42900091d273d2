import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Sql, Tx } from '../db/sql.ts'
import {
  beginDigest,
  type DigestEntry,
  digestsDue,
  dropHeld,
  endDigest,
  type Facts,
  type HeldMail,
  headlineOf,
  heldMails,
  readFacts,
  recipientsOf,
  writeDigest,
} from '../domain/notifications/index.ts'
import { commit, type Writer } from '../stream/commit.ts'
import { messageOf } from '../thrown.ts'
import { addressIn, baseUrlOf, composeMail } from './outgoing.ts'
import { MailRejected, MailUnconfirmed, openSmtp } from './smtp.ts'

interface Services {
  config: Pick<Config, 'smtp' | 'mail' | 'publicUrl' | 'host'>
  port: () => number
  sql: Sql
  writer: Writer
  now: () => Date
  log: Logger
}

/** Entries in a digest; the remaining mails are only counted. */
const MAX_ENTRIES = 20
const HOUR_MS = 3_600_000

/**
 * The cron task `mail_digests`: sends each recipient one mail for everything that the hourly limits held back. Like
 * other mails, a digest is marked before it is transmitted, so it is sent at most once.
 */
export async function sendDigests(services: Services, signal: AbortSignal): Promise<void> {
  const { config, sql, now } = services
  if (config.smtp === undefined) return
  const hour = new Date(Math.floor(now().getTime() / HOUR_MS) * HOUR_MS).toISOString()
  for (const address of await digestsDue(sql, hour)) {
    if (signal.aborted) return
    await sendDigest(services, address, config.smtp)
  }
}

async function sendDigest(
  { config, port, sql, writer, now, log }: Services,
  addressKey: string,
  smtp: { url: string; from: string },
): Promise<void> {
  const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    commit(writer, async (tx) => ({ result: await work(tx), changes: [] }))
  const waiting = await heldMails(sql, addressKey)
  const tokens = await write((tx) => tokensOf(tx, addressKey, waiting, config.mail.allowedDomains))
  const blocked = waiting.filter(({ ruleId }) => !tokens.has(ruleId)).map(({ firing }) => firing)
  if (blocked.length > 0) await write((tx) => dropHeld(tx, addressKey, blocked))
  const included = waiting.filter(({ ruleId }) => tokens.has(ruleId))
  const first = included[0]
  if (first === undefined) return

  const home = baseUrlOf(config, port())
  const entries: DigestEntry[] = []
  for (const { firing, project } of included.slice(0, MAX_ENTRIES)) {
    const facts = await readFacts(sql, firing)
    if (facts !== undefined) entries.push({ project, headline: headlineOf(facts), url: pageOf(home, facts) })
  }
  const firings = included.map(({ firing }) => firing)
  const ends = [...new Map(included.map((one) => [one.project, `${home}/mail/${tokens.get(one.ruleId)}`]))]
  const message = writeDigest({ total: included.length, entries, ends })
  const from = addressIn(smtp.from)
  const about = { to: first.address, mails: included.length }
  try {
    const bytes = await composeMail({
      from: smtp.from,
      to: first.address,
      message,
      date: now(),
      messageId: `<svc.digest.${randomUUID()}@${from.split('@').at(-1)}>`,
      unsubscribe: `${home}/mail/${tokens.get(first.ruleId)}`,
    })
    const session = await openSmtp(smtp.url)
    await session.send({ from, to: first.address, bytes }, async () => {
      if (!(await write((tx) => beginDigest(tx, addressKey, firings))))
        throw new Error('already sent or being sent')
    })
    session.close()
    await write((tx) => endDigest(tx, addressKey, firings, 'sent'))
  } catch (error) {
    const lost = error instanceof MailUnconfirmed
    const refused = error instanceof MailRejected && error.permanent
    await write((tx) =>
      endDigest(tx, addressKey, firings, lost ? 'unknown' : refused ? 'refused' : 'waiting'),
    )
    log.warn({ ...about, why: messageOf(error) }, 'a digest of held mail could not be sent')
  }
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

const pageOf = (home: string, { batch, project }: Facts): string =>
  batch === null
    ? `${home}/p/${encodeURIComponent(project.slug)}`
    : `${home}/b/${encodeURIComponent(batch.id)}`
