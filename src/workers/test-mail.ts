import { randomUUID } from 'node:crypto'
import type { Config } from '../config.ts'
import { addressIn, composeMail } from './outgoing.ts'
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
  const from = addressIn(smtp.from)
  const session = await openSmtp(smtp.url)
  try {
    if (to === undefined) return undefined
    const bytes = await composeMail({
      from: smtp.from,
      to,
      message: {
        subject: 'Test mail of the experiment monitor',
        text: 'This mail was sent by `svc doctor`. Mail from the experiment monitor reaches you.\n',
      },
      date,
      messageId: `<svc.doctor.${randomUUID()}@${from.split('@').at(-1)}>`,
    })
    return (await session.send({ from, to, bytes }, async () => {})).response
  } finally {
    session.close()
  }
}
