import { createHash } from 'node:crypto'
import type { Tx } from '../db/sql.ts'
import { releaseMail, requestConfirmations, reserveMail } from '../domain/addresses/index.ts'
import {
  type Facts,
  holdMail,
  isQuiet,
  type Message,
  markEnded,
  markStarted,
  messageOf,
  type Picture,
  type Recipient,
  readMarks,
  recipientsOf,
  renderEmail,
  unmark,
} from '../domain/notifications/index.ts'
import type { Change } from '../stream/change.ts'
import { commit, write } from '../stream/commit.ts'
import { MailSender, type Outcome, type OutgoingMail } from './mail-sender.ts'
import { baseUrlOf, type MailServices, pageOf } from './outgoing.ts'
import { pictureOf } from './rule-picture.ts'

/** A mail of a firing to one address. */
interface Mail {
  firing: number
  address: string
}

/**
 * Mails what a rule fired (contract §7), one mail to each recipient. A marked mail is never transmitted again, so a
 * repeated task sends only the missing ones. If one could not be sent this throws, and graphile-worker repeats the task
 * after a growing pause.
 */
export function createRuleMail(services: MailServices): (facts: Facts) => Promise<void> {
  const mailer = new Mailer(services)
  return (facts) => mailer.run(facts)
}

class Mailer {
  readonly #services: MailServices

  constructor(services: MailServices) {
    this.#services = services
  }

  async run(facts: Facts): Promise<void> {
    const { sql, config } = this.#services
    const { firing } = facts
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
    const sender = new MailSender(smtp, this.#services.now)
    const failures: Error[] = []
    let picture: Picture | null | undefined
    for (const recipient of recipients) {
      const mail = { firing: facts.firing, address: recipient.address }
      if (!(await this.#isWithinLimits(facts, mail))) continue
      // The mark is stored after the server has accepted the recipient, and before the first byte of the message.
      if (picture === undefined) picture = await pictureOf(this.#services, facts)
      const composed = this.#compose(facts, recipient, picture ?? undefined)
      const outcome = await sender.send(composed, () => this.#begin(facts, mail))
      await this.#record(facts, mail, outcome)
      if (outcome.state === 'later') failures.push(outcome.error)
    }
    sender.close()
    if (failures[0] !== undefined) throw failures[0]
  }

  /** Whether this hour's limits and the rule's quiet hours allow the mail; if not, it waits for a digest. */
  #isWithinLimits(facts: Facts, mail: Mail): Promise<boolean> {
    const { config, now } = this.#services
    const of = { projectKey: facts.project.key, address: mail.address }
    return this.#write(async (tx) => {
      const isTest = facts.trigger === null
      if ((isTest || !isQuiet(facts.rule.quiet, now())) && (await reserveMail(tx, of, config.mail, now())))
        return true
      await holdMail(tx, mail, now())
      return false
    })
  }

  #begin(facts: Facts, mail: Mail): Promise<boolean> {
    const shown = { target: mail.address, subject: this.#messageOf(facts).subject }
    return this.#write((tx) => markStarted(tx, mail, 'begun', shown, this.#services.now()))
  }

  async #record(facts: Facts, mail: Mail, outcome: Outcome): Promise<void> {
    const { log, now } = this.#services
    const reserved = { projectKey: facts.project.key, address: mail.address }
    const end = (state: 'sent' | 'unknown' | 'refused', why: string | null): Promise<void> =>
      this.#writeStep(facts, (tx) => markEnded(tx, mail, state, why, now()))
    if (outcome.state === 'sent') return end('sent', null)
    if (outcome.state === 'cancelled') return this.#write((tx) => releaseMail(tx, reserved, now()))
    const { state, error } = outcome
    const about = { firing: mail.firing, to: mail.address, why: error.message }
    if (state === 'unknown') {
      await end('unknown', error.message)
      log.warn(about, 'a mail was handed over, but no answer came: it is not sent again')
    } else if (state === 'refused') {
      await end('refused', error.message)
      log.warn(about, 'a mail was refused permanently')
    } else {
      await this.#write(async (tx) => {
        await unmark(tx, mail)
        await releaseMail(tx, reserved, now())
      })
      log.warn(about, 'a mail could not be sent; it is tried again')
    }
  }

  async #logInstead(facts: Facts, waiting: Recipient[]): Promise<void> {
    const { log, now } = this.#services
    for (const { address } of waiting) {
      const mail = { firing: facts.firing, address }
      const shown = { target: address, subject: this.#messageOf(facts).subject }
      if (!(await this.#writeStep(facts, (tx) => markStarted(tx, mail, 'logged', shown, now())))) continue
      // Without the recipient's own link, because others read the log.
      const { subject, text } = renderEmail(this.#messageOf(facts), [[END, `${this.#home()}/mail/…`]])
      log.info(
        { mail: { to: address, subject, text } },
        'no mail server is set (SVC_SMTP_URL): this mail was not sent',
      )
    }
  }

  #messageOf(facts: Facts): Message {
    return messageOf(facts, pageOf(this.#home(), facts), 'mail')
  }

  #compose(facts: Facts, recipient: Recipient, picture?: Picture): OutgoingMail {
    const byRule = `${this.#home()}/mail/${recipient.token}?rule=${facts.rule.id}`
    const end = facts.batch === null ? byRule : `${byRule}&batch=${encodeURIComponent(facts.batch.id)}`
    const who = createHash('sha256').update(recipient.address.toLowerCase()).digest('hex').slice(0, 16)
    return {
      to: recipient.address,
      message: renderEmail(this.#messageOf(facts), [[END, end]], picture),
      // The same for every attempt, so that a mail server can recognize duplicates.
      messageId: `svc.${facts.firing}.${who}`,
      ...(facts.batch === null ? {} : { references: `svc.batch.${facts.batch.key}` }),
      // Without the batch, because header lines have a limited length and batch ids may be long.
      unsubscribe: byRule,
    }
  }

  #home(): string {
    return baseUrlOf(this.#services.config, this.#services.port())
  }

  #write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return write(this.#services.writer, work)
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

const END = 'Stop or change this mail'
