import MailComposer from 'nodemailer/lib/mail-composer'
import type { Config } from '../config.ts'

/** One mail to one recipient, as bytes for the server. */
export function composeMail(mail: {
  from: string
  to: string
  message: { subject: string; text: string; html?: string }
  date: Date
  messageId?: string
  references?: string
  /** How the recipient ends mail of this kind (RFC 8058); mail that its recipient requested has none. */
  unsubscribe?: string
}): Promise<Buffer> {
  const { from, to, message, date, messageId, references, unsubscribe } = mail
  const composer = new MailComposer({
    from,
    to: { name: '', address: to },
    subject: message.subject,
    text: message.text,
    ...(message.html === undefined ? {} : { html: message.html }),
    date,
    ...(messageId === undefined ? {} : { messageId }),
    ...(references === undefined ? {} : { references }),
    headers: {
      ...(unsubscribe !== undefined && {
        'List-Unsubscribe': `<${unsubscribe}>`,
        'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
      }),
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return composer.compile().build()
}

/** The address of the service in links. @param port where it listens; that of the configuration may be 0 */
export function homeOf({ publicUrl, host }: Pick<Config, 'publicUrl' | 'host'>, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return publicUrl ?? `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** `Monitor <monitor@example.org>` → `monitor@example.org`. */
export const addressIn = (from: string): string => /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from
