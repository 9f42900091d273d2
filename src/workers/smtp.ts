import { Readable } from 'node:stream'
import type { SMTPConnectionAuth } from 'nodemailer/lib/smtp-connection'
import { errorOf } from '../thrown.ts'

/** The server rejected the mail, or it was never transmitted. `permanent`: a retry cannot succeed. */
export class MailRejected extends Error {
  readonly permanent: boolean
  constructor(cause: Error, permanent: boolean) {
    super(cause.message, { cause })
    this.name = 'MailRejected'
    this.permanent = permanent
  }
}

/** The mail was transmitted, but the answer was lost, so it is unknown whether the server accepted it. */
export class MailUnconfirmed extends Error {
  constructor(cause: Error) {
    super(cause.message, { cause })
    this.name = 'MailUnconfirmed'
  }
}

export interface SmtpSession {
  /**
   * Sends one mail.
   * @param beforeMessage awaited after the server has accepted the envelope and before the first byte of the message,
   * which is the latest point at which the mail can be marked as transmitted. If it throws, `send` throws MailRejected
   * @throws MailRejected, MailUnconfirmed; the session cannot be used after that
   */
  send(
    mail: { from: string; to: string; bytes: Buffer },
    beforeMessage: () => Promise<void>,
  ): Promise<{ response: string }>
  close(): void
}

const TIMES = { connectionTimeout: 20_000, greetingTimeout: 20_000, socketTimeout: 120_000 }

interface SmtpError extends Error {
  responseCode?: number
  command?: string
}

/**
 * Connects and signs in. Uses nodemailer's SMTP connection instead of its transport, which starts to read a message
 * before the server has accepted the envelope, so that nothing can happen between the two. Only the transport reads URLs
 * by itself; the parser that it uses is a file of its own.
 * @throws MailRejected
 */
export async function openSmtp(url: string): Promise<SmtpSession> {
  const { parseConnectionUrl } = await import('nodemailer/lib/shared')
  const { default: SMTPConnection } = await import('nodemailer/lib/smtp-connection')
  const { auth, ...options } = parseConnectionUrl(url)
  const connection = new SMTPConnection({ ...TIMES, ...options })
  // If the connection fails while idle, the next call reports it.
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
    async send({ from, to, bytes }, begin) {
      let messageStarted = false
      let failedAlready = false
      let beforeMessageDone: Promise<void> | undefined
      async function* message(): AsyncGenerator<Buffer> {
        beforeMessageDone = begin()
        await beforeMessageDone
        if (failedAlready) return
        messageStarted = true
        yield bytes
      }
      try {
        const envelope = { from, to: [to], size: bytes.length }
        return await step<{ response: string }>((done) =>
          connection.send(envelope, Readable.from(message()), done),
        )
      } catch (error) {
        failedAlready = true
        connection.close()
        await beforeMessageDone?.catch(() => {})
        const { responseCode, command } = error as SmtpError
        if (messageStarted && responseCode === undefined) throw new MailUnconfirmed(errorOf(error))
        const aboutTheMail = messageStarted || command === 'RCPT TO'
        throw new MailRejected(
          errorOf(error),
          aboutTheMail && responseCode !== undefined && responseCode >= 500,
        )
      }
    },
  }
}
