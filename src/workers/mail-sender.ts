import type { Config } from '../config.ts'
import { errorOf } from '../thrown.ts'
import { addressIn, composeMail } from './outgoing.ts'
import { MailRejected, MailUnconfirmed, openSmtp, type SmtpSession } from './smtp.ts'

/**
 * The outcome of one attempt. `unknown`: the message was transmitted, but the answer was lost. `refused`: a retry cannot
 * succeed. `later`: it was not accepted, and may be sent again. `cancelled`: `beforeMessage` returned false.
 */
export type Outcome =
  | { state: 'sent'; response: string }
  | { state: 'unknown' | 'refused' | 'later'; error: Error }
  | { state: 'cancelled' }

export interface OutgoingMail {
  to: string
  message: { subject: string; text: string; html?: string; picture?: Buffer }
  /** The part of the `Message-ID` before the host. */
  messageId: string
  /** The same, of the mail whose thread it belongs to. */
  references?: string
  unsubscribe?: string
}

/** The one way out for mail of every kind. Mails of one sender share a connection, until `close`. */
export class MailSender {
  readonly #smtp: NonNullable<Config['smtp']>
  readonly #now: () => Date
  #session: SmtpSession | undefined

  constructor(smtp: NonNullable<Config['smtp']>, now: () => Date) {
    this.#smtp = smtp
    this.#now = now
  }

  /**
   * @param beforeMessage is called after the server has accepted the envelope and before the first byte of the message;
   * returns false if the mail must not be sent any more
   */
  async send(mail: OutgoingMail, beforeMessage?: () => Promise<boolean>): Promise<Outcome> {
    const from = addressIn(this.#smtp.from)
    const idOf = (id: string): string => `<${id}@${from.split('@').at(-1)}>`
    try {
      const bytes = await composeMail({
        from: this.#smtp.from,
        to: mail.to,
        message: mail.message,
        date: this.#now(),
        messageId: idOf(mail.messageId),
        ...(mail.references !== undefined && { references: idOf(mail.references) }),
        ...(mail.unsubscribe !== undefined && { unsubscribe: mail.unsubscribe }),
      })
      this.#session ??= await openSmtp(this.#smtp.url)
      const { response } = await this.#session.send({ from, to: mail.to, bytes }, async () => {
        if (beforeMessage !== undefined && !(await beforeMessage())) throw new SendCancelled()
      })
      return { state: 'sent', response }
    } catch (thrown) {
      this.#session = undefined
      const error = errorOf(thrown)
      if (error.cause instanceof SendCancelled) return { state: 'cancelled' }
      if (error instanceof MailUnconfirmed) return { state: 'unknown', error }
      return { state: error instanceof MailRejected && error.permanent ? 'refused' : 'later', error }
    }
  }

  close(): void {
    this.#session?.close()
    this.#session = undefined
  }
}

class SendCancelled extends Error {}
