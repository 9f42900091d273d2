import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import { type Facts, PICTURE_ID } from '../domain/notifications/index.ts'
import type { TelemetryPool } from '../domain/telemetry.ts'
import type { Writer } from '../stream/commit.ts'

/** What sends mail. */
export interface MailServices {
  config: Pick<Config, 'smtp' | 'mail' | 'publicUrl' | 'host'>
  /** The port that the service listens on; the configured one may be 0. */
  port: () => number
  sql: TelemetryPool
  writer: Writer
  now: () => Date
  log: Logger
}

/** Composes one mail to one recipient, as bytes for the mail server. */
export async function composeMail(mail: {
  from: string
  to: string
  message: { subject: string; text: string; html?: string; picture?: Buffer }
  date: Date
  messageId?: string
  references?: string
  /** The link that unsubscribes (RFC 8058); omitted for mail that the recipient requested. */
  unsubscribe?: string
}): Promise<Buffer> {
  const { from, to, message, date, messageId, references, unsubscribe } = mail
  const { default: MailComposer } = await import('nodemailer/lib/mail-composer')
  const composer = new MailComposer({
    from,
    to: { name: '', address: to },
    subject: message.subject,
    text: message.text,
    ...(message.html === undefined ? {} : { html: message.html }),
    // In the mail itself: no one needs an address that would open it to others.
    ...(message.picture !== undefined && {
      attachments: [
        { filename: 'chart.png', contentType: 'image/png', cid: PICTURE_ID, content: message.picture },
      ],
    }),
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

/**
 * The base URL of the service, for links.
 * @param port the port that the service listens on; the configured one may be 0
 */
export function baseUrlOf({ publicUrl, host }: Pick<Config, 'publicUrl' | 'host'>, port: number): string {
  const reachable = host === '0.0.0.0' || host === '::' ? 'localhost' : host
  return publicUrl ?? `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`
}

/** The page of a firing: of its batch, or of its project. */
export const pageOf = (home: string, { batch, project }: Pick<Facts, 'batch' | 'project'>): string =>
  batch === null
    ? `${home}/p/${encodeURIComponent(project.slug)}`
    : `${home}/b/${encodeURIComponent(batch.id)}`

/** `Monitor <monitor@example.org>` → `monitor@example.org`. */
export const addressIn = (from: string): string => /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from
