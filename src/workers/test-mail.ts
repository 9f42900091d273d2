import { randomUUID } from 'node:crypto'
import type { Config } from '../config.ts'
import { MailSender } from './mail-sender.ts'
import { openSmtp } from './smtp.ts'

/**
 * Connects and signs in to the mail server, and sends a test mail to `to` if given.
 * @returns the server's answer to the mail
 * @throws MailRejected, MailUnconfirmed
 */
export async function sendTestMail(
  smtp: NonNullable<Config['smtp']>,
  to: string | undefined,
  date: Date,
): Promise<string | undefined> {
  if (to === undefined) {
    const session = await openSmtp(smtp.url)
    session.close()
    return undefined
  }
  const sender = new MailSender(smtp, () => date)
  const outcome = await sender.send({
    to,
    message: {
      subject: 'Test mail of the experiment monitor',
      text: 'This mail was sent by `svc doctor`. Mail from the experiment monitor reaches you.\n',
    },
    messageId: `svc.doctor.${randomUUID()}`,
  })
  sender.close()
  if ('error' in outcome) throw outcome.error
  return outcome.state === 'sent' ? outcome.response : undefined
}
