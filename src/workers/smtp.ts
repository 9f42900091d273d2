import { Readable } from 'node:stream'
import { parseConnectionUrl } from 'nodemailer/lib/shared'
import SMTPConnection, { type SMTPConnectionAuth } from 'nodemailer/lib/smtp-connection'
import { errorOf } from '../thrown.ts'

/** The server did not take the mail, and said so, or was never given it. `permanent`: it never will. */
export class MailRejected extends Error {
  readonly permanent: boolean
  constructor(cause: Error, permanent: boolean) {
    super(cause.message, { cause })
    this.name = 'NotTaken'
    this.permanent = permanent
  }
}

/** The mail was handed over, and no answer came: it may have been accepted or not, and that cannot be found out. */
export class MailUnconfirmed extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
    this.name = 'NoAnswer'
  }
}

export interface SmtpSession {
  /**
   * Hands one mail over.
   * @param begin is awaited once the server has agreed to all of the envelope, and before the first byte of the message:
   *   as late as a mark can be made that the mail was handed over
   * @throws MailRejected, MailUnconfirmed; the session cannot be used after that. What `begin` throws becomes MailRejected.
   */
  hand(
    mail: { from: string; to: string; bytes: Buffer },
    begin: () => Promise<void>,
  ): Promise<{ response: string }>
  close(): void
}

const TIMES = { connectionTimeout: 20_000, greetingTimeout: 20_000, socketTimeout: 120_000 }

interface SmtpError extends Error {
  responseCode?: number
  command?: string
}

/**
 * Connects and signs in. Straight on nodemailer's connection rather than its transport, which begins to read a message
 * before the server has agreed to it, so that nothing can be done between the two.
 * @throws NotTaken
 */
export async function openSmtp(url: string): Promise<SmtpSession> {
  const { auth, ...options } = parseConnectionUrl(url)
  const connection = new SMTPConnection({ ...TIMES, ...options })
  // The next call finds a failure that happens while nothing is being sent.
  let failed: (error: Error) => void = () => {}
  connection.on('error', (error: Error) => failed(error))
  const step = <T>(run: (done: (error?: Error | null, value?: T) => void) => void): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      failed = reject
      run((error, value) => (error ? reject(error) : resolve(value as T)))
    })
  try {
    await step((done) => connection.connect(done))
    if (auth !== undefined && connection.allowsAuth)
      await step((done) => connection.login(auth as SMTPConnectionAuth, done))
  } catch (error) {
    connection.close()
    throw new MailRejected(errorOf(error), false)
  }

  return {
    close: () => connection.quit(),
    async hand({ from, to, bytes }, begin) {
      let handed = false
      let over = false
      let beginning: Promise<void> | undefined
      async function* message(): AsyncGenerator<Buffer> {
        beginning = begin()
        await beginning
        if (over) return
        handed = true
        yield bytes
      }
      try {
        const envelope = { from, to: [to], size: bytes.length }
        return await step<{ response: string }>((done) =>
          connection.send(envelope, Readable.from(message()), done),
        )
      } catch (error) {
        over = true
        connection.close()
        await beginning?.catch(() => {})
        const { responseCode, command } = error as SmtpError
        if (handed && responseCode === undefined) throw new MailUnconfirmed(errorOf(error))
        const aboutTheMail = handed || command === 'RCPT TO'
        throw new MailRejected(
          errorOf(error),
          aboutTheMail && responseCode !== undefined && responseCode >= 500,
        )
      }
    },
  }
}
