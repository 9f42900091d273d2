import { createHash } from 'node:crypto'
import type { Task } from 'graphile-worker'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Sql, Tx } from '../db/sql.ts'
import { releaseMail, requestConfirmations, reserveMail } from '../domain/addresses/index.ts'
import {
  type Facts,
  holdMail,
  type MailPayload,
  markEnded,
  markStarted,
  type Recipient,
  readFacts,
  readMarks,
  recipientsOf,
  renderEmail,
  unmark,
} from '../domain/notifications/index.ts'
import type { Change } from '../stream/change.ts'
import { commit, type Writer } from '../stream/commit.ts'
import { errorOf } from '../thrown.ts'
import { addressIn, composeMail, homeOf } from './outgoing.ts'
import { MailRejected, MailUnconfirmed, openSmtp, type SmtpSession } from './smtp.ts'

interface Services {
  config: Pick<Config, 'smtp' | 'mail' | 'publicUrl' | 'host'>
  /** Where the service listens; that of the configuration may be 0. */
  port: () => number
  sql: Sql
  writer: Writer
  now: () => Date
  log: Logger
}

/**
 * The task `mail` of graphile-worker: sends what a rule fired (contract §7), a mail of its own to each recipient. A mail
 * that bears a mark is not handed over again, so a task that is repeated sends only what is missing; it throws when
 * something still is, and graphile-worker repeats it with growing pauses.
 */
export function createMailTask(services: Services): Task {
  const { sql, writer, now, log, config } = services
  const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    commit(writer, async (tx) => ({ result: await work(tx), changes: [] }))
  const home = (): string => homeOf(config, services.port())
  /** What the timeline of the batch shows. */
  const writeStep = <T>(facts: Facts, work: (tx: Tx) => Promise<T>): Promise<T> =>
    commit(writer, async (tx) => ({ result: await work(tx), changes: timelineOf(facts) }))

  return async (payload) => {
    const { firing } = payload as MailPayload
    const facts = await readFacts(sql, firing)
    if (facts === undefined) return
    const marks = await readMarks(sql, firing)
    for (const [address, state] of marks) {
      if (state !== 'begun') continue
      await writeStep(facts, (tx) =>
        markEnded(tx, { firing, address }, 'unknown', 'the sender ended before the answer came', now()),
      )
      log.warn(
        { firing, to: address },
        'a mail was handed over, but the answer was lost: it is not sent again',
      )
    }
    const recipients = await write((tx) =>
      recipientsOf(
        tx,
        {
          ruleId: facts.rule.id,
          projectKey: facts.project.key,
          batchKey: facts.batch?.key ?? null,
        },
        config.mail.allowedDomains,
      ),
    )
    const waiting = recipients.filter(({ address }) => !marks.has(address.toLowerCase()))
    if (config.smtp === undefined) return logInstead(facts, waiting)
    if (waiting.some(({ confirmed }) => !confirmed)) await askOwners(facts)
    await sendAll(
      facts,
      waiting.filter(({ confirmed }) => confirmed),
      config.smtp,
    )
  }

  /** Sends confirmation links to addresses that had none yet, such as those that were set before a mail server was. */
  async function askOwners({ project, firing }: Facts): Promise<void> {
    await write((tx) =>
      requestConfirmations(
        tx,
        { projectKey: project.key, requestedBy: null },
        config.mail.allowedDomains,
        now(),
      ),
    )
    log.info({ firing }, 'some recipients are not mailed: their owners have not confirmed the addresses')
  }

  /** Whether the budgets of this hour have room; what they hold back waits for a digest. */
  async function haveRoom(facts: Facts, mail: { firing: number; address: string }): Promise<boolean> {
    const of = { projectKey: facts.project.key, address: mail.address }
    return write(async (tx) => {
      if (await reserveMail(tx, of, config.mail, now())) return true
      await holdMail(tx, mail, now())
      return false
    })
  }

  async function sendAll(
    facts: Facts,
    waiting: Recipient[],
    smtp: { url: string; from: string },
  ): Promise<void> {
    let session: SmtpSession | undefined
    const failures: Error[] = []
    for (const recipient of waiting) {
      const mail = { firing: facts.firing, address: recipient.address }
      if (!(await haveRoom(facts, mail))) continue
      try {
        const bytes = await compose(facts, recipient, smtp.from)
        session ??= await openSmtp(smtp.url)
        await session.hand({ from: addressIn(smtp.from), to: recipient.address, bytes }, async () => {
          if (!(await write((tx) => markStarted(tx, mail, 'begun', now())))) throw new NotToSend()
        })
        await writeStep(facts, (tx) => markEnded(tx, mail, 'sent', null, now()))
      } catch (error) {
        session = undefined
        if (!(await settle(facts, mail, errorOf(error)))) failures.push(errorOf(error))
      }
    }
    session?.close()
    if (failures[0] !== undefined) throw failures[0]
  }

  /** @returns whether nothing is left to do about the mail */
  async function settle(
    facts: Facts,
    mail: { firing: number; address: string },
    error: Error,
  ): Promise<boolean> {
    if (error.cause instanceof NotToSend) {
      await write((tx) => releaseMail(tx, { projectKey: facts.project.key, address: mail.address }, now()))
      return true
    }
    const about = { firing: mail.firing, to: mail.address, why: error.message }
    if (error instanceof MailUnconfirmed) {
      await writeStep(facts, (tx) => markEnded(tx, mail, 'unknown', error.message, now()))
      log.warn(about, 'a mail was handed over, but no answer came: it is not sent again')
      return true
    }
    if (error instanceof MailRejected && error.permanent) {
      await writeStep(facts, (tx) => markEnded(tx, mail, 'refused', error.message, now()))
      log.warn(about, 'a mail was refused permanently')
      return true
    }
    await write(async (tx) => {
      if (error instanceof MailRejected) await unmark(tx, mail)
      await releaseMail(tx, { projectKey: facts.project.key, address: mail.address }, now())
    })
    log.warn(about, 'a mail could not be sent; it is tried again')
    return false
  }

  async function logInstead(facts: Facts, waiting: Recipient[]): Promise<void> {
    for (const { address } of waiting) {
      const mail = { firing: facts.firing, address }
      if (!(await writeStep(facts, (tx) => markStarted(tx, mail, 'logged', now())))) continue
      // Not the recipient's own link: what is in the log is for everybody who reads it.
      const { subject, text } = renderEmail(facts, { page: pageOf(facts), end: `${home()}/mail/…` })
      log.info(
        { mail: { to: address, subject, text } },
        'no mail server is set (SVC_SMTP_URL): this mail was not sent',
      )
    }
  }

  function compose(facts: Facts, recipient: Recipient, from: string): Promise<Buffer> {
    const byRule = `${home()}/mail/${recipient.token}?rule=${facts.rule.id}`
    const end = facts.batch === null ? byRule : `${byRule}&batch=${encodeURIComponent(facts.batch.id)}`
    const message = renderEmail(facts, { page: pageOf(facts), end })
    const domain = addressIn(from).split('@').at(-1)
    const who = createHash('sha256').update(recipient.address.toLowerCase()).digest('hex').slice(0, 16)
    return composeMail({
      from,
      to: recipient.address,
      message,
      date: now(),
      // The same for every attempt, so that a mail server can recognize duplicates.
      messageId: `<svc.${facts.firing}.${who}@${domain}>`,
      ...(facts.batch === null ? {} : { references: `<svc.batch.${facts.batch.key}@${domain}>` }),
      // Without the batch: a header line has an end, an id of a batch nearly none.
      unsubscribe: byRule,
    })
  }

  function pageOf({ batch, project }: Facts): string {
    return batch === null
      ? `${home()}/p/${encodeURIComponent(project.slug)}`
      : `${home()}/b/${encodeURIComponent(batch.id)}`
  }
}

const timelineOf = ({ batch }: Facts): Change[] =>
  batch === null ? [] : [{ channel: `batch:${batch.id}`, type: 'commands', batchKey: batch.key, keys: [] }]

/** Another worker has handed this mail over meanwhile, or its rule was deleted. */
class NotToSend extends Error {}
