import { randomUUID } from 'node:crypto'
import type { Task } from 'graphile-worker'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Sql, Tx } from '../db/sql.ts'
import { issueToken, pendingMail, releaseMail, reserveMail, returnToken } from '../domain/addresses/index.ts'
import { pendingInvitation } from '../domain/invitations/index.ts'
import type { EmailMessage } from '../domain/notifications/index.ts'
import { commit, type Writer } from '../stream/commit.ts'
import { messageOf } from '../thrown.ts'
import { confirmationEmail, invitationEmail } from './account-emails.ts'
import { addressIn, baseUrlOf, composeMail } from './outgoing.ts'
import { MailRejected, MailUnconfirmed, openSmtp } from './smtp.ts'

interface Services {
  config: Pick<Config, 'smtp' | 'mail' | 'publicUrl' | 'host'>
  /** The port that the service listens on; the configured one may be 0. */
  port: () => number
  sql: Sql
  writer: Writer
  now: () => Date
  log: Logger
}

/**
 * The task `account_mail` of graphile-worker: confirmation links for addresses, and invitations. A token is only in its
 * mail; the database holds its hash, and neither is logged. Throws when the server did not accept a mail;
 * graphile-worker then retries with growing pauses.
 */
export function createAccountMailTask({ config, port, sql, writer, now, log }: Services): Task {
  const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> =>
    commit(writer, async (tx) => ({ result: await work(tx), changes: [] }))
  const home = (): string => baseUrlOf(config, port())

  /** @param undo reverts the preparation when the server did not accept the mail */
  async function send(to: string, message: EmailMessage, undo: () => Promise<unknown>): Promise<void> {
    const { smtp } = config
    if (smtp === undefined) return
    const from = addressIn(smtp.from)
    try {
      const messageId = `<svc.account.${randomUUID()}@${from.split('@').at(-1)}>`
      const bytes = await composeMail({ from: smtp.from, to, message, date: now(), messageId })
      const session = await openSmtp(smtp.url)
      await session.send({ from, to, bytes }, async () => {})
      session.close()
    } catch (error) {
      const about = { to, why: messageOf(error) }
      if (error instanceof MailUnconfirmed || (error instanceof MailRejected && error.permanent)) {
        log.warn(about, 'a mail about an account was refused, or its answer was lost: it is not sent again')
        return
      }
      await undo()
      log.warn(about, 'a mail about an account could not be sent; it is tried again')
      throw error
    }
  }

  async function confirm(id: string): Promise<void> {
    const mail = await pendingMail(sql, id, now())
    if (mail === undefined || config.smtp === undefined) return
    const token = await write((tx) => issueToken(tx, id, now()))
    await send(mail.address, confirmationEmail(mail, `${home()}/verify/${token}`), () =>
      write((tx) => returnToken(tx, id)),
    )
  }

  async function invite(id: string): Promise<void> {
    const invitation = await pendingInvitation(sql, id)
    if (invitation === undefined) return
    if (!(await write((tx) => reserveMail(tx, invitation, config.mail, now())))) {
      log.info({ to: invitation.address }, 'an invitation is not mailed: the budget of this hour is used up')
      return
    }
    await send(invitation.address, invitationEmail(invitation, `${home()}/`), () =>
      write((tx) => releaseMail(tx, invitation, now())),
    )
  }

  return async (payload) => {
    const { confirmation, invitation } = payload as { confirmation?: string; invitation?: string }
    if (confirmation !== undefined) await confirm(confirmation)
    if (invitation !== undefined) await invite(invitation)
  }
}
