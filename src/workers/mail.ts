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
import { addressIn, baseUrlOf, composeMail } from './outgoing.ts'
import { MailRejected, MailUnconfirmed, openSmtp, type SmtpSession } from './smtp.ts'

interface Services {
  config: Pick<Config, 'smtp' | 'mail' | 'publicUrl' | 'host'>
  /** The port that the service listens on; the configured one may be 0. */
  port: () => number
  sql: Sql
  writer: Writer
  now: () => Date
  log: Logger
}

/** A mail of a firing to one address. */
interface Mail {
  firing: number
  address: string
}

/**
 * The task `mail` of graphile-worker: sends what a rule fired (contract §7), one mail to each recipient. A marked mail is
 * never transmitted again, so a repeated task sends only the missing ones. If one could not be sent the task throws, and
 * graphile-worker repeats it after a growing pause.
 */
export function createMailTask(services: Services): Task {
  const mailer = new Mailer(services)
  return (payload) => mailer.run((payload as MailPayload).firing)
}

class Mailer {
  readonly #services: Services

  constructor(services: Services) {
    this.#services = services
  }

  async run(firing: number): Promise<void> {
    const { sql, config } = this.#services
    const facts = await readFacts(sql, firing)
    if (facts === undefined) return
    const marks = await readMarks(sql, firing)
    for (const [address, state] of marks) {
      if (state === 'begun') await this.#giveUp(facts, { firing, address })
    }
    const recipients = await this.#recipientsOf(facts)
    const waiting = recipients.filter(({ address }) => !marks.has(address.toLowerCase()))
    if (config.smtp === undefined) return this.#logInstead(facts, waiting)
    if (waiting.some(({ confirmed }) => !confirmed)) await this.#askOwners(facts)
    await this.#sendAll(
      facts,
      waiting.filter(({ confirmed }) => confirmed),
      config.smtp,
    )
  }

  /** An earlier attempt ended between the message and the answer, so the mail may have been accepted. */
  async #giveUp(facts: Facts, mail: Mail): Promise<void> {
    const { log, now } = this.#services
    await this.#writeStep(facts, (tx) =>
      markEnded(tx, mail, 'unknown', 'the sender ended before the answer came', now()),
    )
    log.warn(
      { firing: mail.firing, to: mail.address },
      'a mail was handed over, but the answer was lost: it is not sent again',
    )
  }

  #recipientsOf(facts: Facts): Promise<Recipient[]> {
    const of = {
      ruleId: facts.rule.id,
      projectKey: facts.project.key,
      batchKey: facts.batch?.key ?? null,
    }
    return this.#write((tx) => recipientsOf(tx, of, this.#services.config.mail.allowedDomains))
  }

  /** Sends confirmation links to addresses that never got one, such as those set before there was a mail server. */
  async #askOwners({ project, firing }: Facts): Promise<void> {
    const { config, log, now } = this.#services
    await this.#write((tx) =>
      requestConfirmations(
        tx,
        { projectKey: project.key, requestedBy: null },
        config.mail.allowedDomains,
        now(),
      ),
    )
    log.info({ firing }, 'some recipients are not mailed: their owners have not confirmed the addresses')
  }

  async #sendAll(facts: Facts, recipients: Recipient[], smtp: { url: string; from: string }): Promise<void> {
    let session: SmtpSession | undefined
    const failures: Error[] = []
    for (const recipient of recipients) {
      const mail = { firing: facts.firing, address: recipient.address }
      if (!(await this.#isWithinLimits(facts, mail))) continue
      try {
        const bytes = await this.#compose(facts, recipient, smtp.from)
        session ??= await openSmtp(smtp.url)
        await this.#send(session, facts, mail, { from: smtp.from, bytes })
      } catch (error) {
        session = undefined
        if (!(await this.#recordFailure(facts, mail, errorOf(error)))) failures.push(errorOf(error))
      }
    }
    session?.close()
    if (failures[0] !== undefined) throw failures[0]
  }

  /** Whether this hour's limits allow the mail; if not, it waits for a digest. */
  #isWithinLimits(facts: Facts, mail: Mail): Promise<boolean> {
    const { config, now } = this.#services
    const of = { projectKey: facts.project.key, address: mail.address }
    return this.#write(async (tx) => {
      if (await reserveMail(tx, of, config.mail, now())) return true
      await holdMail(tx, mail, now())
      return false
    })
  }

  /** The mark is stored after the server has accepted the recipient, and before the first byte of the message. */
  async #send(
    session: SmtpSession,
    facts: Facts,
    mail: Mail,
    { from, bytes }: { from: string; bytes: Buffer },
  ): Promise<void> {
    const { now } = this.#services
    await session.send({ from: addressIn(from), to: mail.address, bytes }, async () => {
      if (!(await this.#write((tx) => markStarted(tx, mail, 'begun', now())))) throw new SendCancelled()
    })
    await this.#writeStep(facts, (tx) => markEnded(tx, mail, 'sent', null, now()))
  }

  /**
   * Records why a mail was not sent.
   * @returns false if it must be tried again
   */
  async #recordFailure(facts: Facts, mail: Mail, error: Error): Promise<boolean> {
    const { log, now } = this.#services
    const reserved = { projectKey: facts.project.key, address: mail.address }
    if (error.cause instanceof SendCancelled) {
      await this.#write((tx) => releaseMail(tx, reserved, now()))
      return true
    }
    const about = { firing: mail.firing, to: mail.address, why: error.message }
    if (error instanceof MailUnconfirmed) {
      await this.#writeStep(facts, (tx) => markEnded(tx, mail, 'unknown', error.message, now()))
      log.warn(about, 'a mail was handed over, but no answer came: it is not sent again')
      return true
    }
    if (error instanceof MailRejected && error.permanent) {
      await this.#writeStep(facts, (tx) => markEnded(tx, mail, 'refused', error.message, now()))
      log.warn(about, 'a mail was refused permanently')
      return true
    }
    await this.#write(async (tx) => {
      if (error instanceof MailRejected) await unmark(tx, mail)
      await releaseMail(tx, reserved, now())
    })
    log.warn(about, 'a mail could not be sent; it is tried again')
    return false
  }

  async #logInstead(facts: Facts, waiting: Recipient[]): Promise<void> {
    const { log, now } = this.#services
    for (const { address } of waiting) {
      const mail = { firing: facts.firing, address }
      if (!(await this.#writeStep(facts, (tx) => markStarted(tx, mail, 'logged', now())))) continue
      // Without the recipient's own link, because others read the log.
      const { subject, text } = renderEmail(facts, {
        page: this.#pageOf(facts),
        end: `${this.#home()}/mail/…`,
      })
      log.info(
        { mail: { to: address, subject, text } },
        'no mail server is set (SVC_SMTP_URL): this mail was not sent',
      )
    }
  }

  #compose(facts: Facts, recipient: Recipient, from: string): Promise<Buffer> {
    const byRule = `${this.#home()}/mail/${recipient.token}?rule=${facts.rule.id}`
    const end = facts.batch === null ? byRule : `${byRule}&batch=${encodeURIComponent(facts.batch.id)}`
    const message = renderEmail(facts, { page: this.#pageOf(facts), end })
    const domain = addressIn(from).split('@').at(-1)
    const who = createHash('sha256').update(recipient.address.toLowerCase()).digest('hex').slice(0, 16)
    return composeMail({
      from,
      to: recipient.address,
      message,
      date: this.#services.now(),
      // The same for every attempt, so that a mail server can recognize duplicates.
      messageId: `<svc.${facts.firing}.${who}@${domain}>`,
      ...(facts.batch === null ? {} : { references: `<svc.batch.${facts.batch.key}@${domain}>` }),
      // Without the batch, because header lines have a limited length and batch ids may be long.
      unsubscribe: byRule,
    })
  }

  #pageOf({ batch, project }: Facts): string {
    return batch === null
      ? `${this.#home()}/p/${encodeURIComponent(project.slug)}`
      : `${this.#home()}/b/${encodeURIComponent(batch.id)}`
  }

  #home(): string {
    return baseUrlOf(this.#services.config, this.#services.port())
  }

  #write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return commit(this.#services.writer, async (tx) => ({ result: await work(tx), changes: [] }))
  }

  /** Writes something that the batch's timeline shows. */
  #writeStep<T>(facts: Facts, work: (tx: Tx) => Promise<T>): Promise<T> {
    return commit(this.#services.writer, async (tx) => ({
      result: await work(tx),
      changes: timelineOf(facts),
    }))
  }
}

const timelineOf = ({ batch }: Facts): Change[] =>
  batch === null ? [] : [{ channel: `batch:${batch.id}`, type: 'commands', batchKey: batch.key, keys: [] }]

/** Another worker has started to send this mail, or its rule was deleted. */
class SendCancelled extends Error {}
