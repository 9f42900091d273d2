import { randomUUID } from 'node:crypto'
import {
  isMailable,
  issueToken,
  pendingMail,
  releaseMail,
  reserveMail,
  returnToken,
} from '../domain/addresses/index.ts'
import { ownerOfAgent } from '../domain/agents/index.ts'
import { readMention } from '../domain/comments/index.ts'
import { pendingInvitation } from '../domain/invitations/index.ts'
import type { AgentMail, Mention } from '../domain/outbox.ts'
import { write } from '../stream/commit.ts'
import { agentEmail, confirmationEmail, invitationEmail, mentionEmail } from './account-emails.ts'
import { MailSender, type OutgoingMail } from './mail-sender.ts'
import { baseUrlOf, type MailServices } from './outgoing.ts'

/**
 * Mail to accounts: confirmation links for addresses, invitations, mentions, and registrations of agents. The token of a link is
 * only in its mail; the database holds its hash, and neither is logged. Each function throws when the server did not
 * accept a mail; graphile-worker then retries with growing pauses.
 */
export function createAccountMail({ config, port, sql, writer, now, log }: MailServices) {
  const { smtp } = config
  const home = (): string => baseUrlOf(config, port())

  /** @param undo reverts the preparation when the server did not accept the mail */
  async function send(
    kind: 'account' | 'agent' | 'mention',
    mail: Omit<OutgoingMail, 'messageId'>,
    undo?: () => Promise<unknown>,
  ): Promise<void> {
    if (smtp === undefined) return
    const sender = new MailSender(smtp, now)
    const outcome = await sender.send({ ...mail, messageId: `svc.${kind}.${randomUUID()}` })
    sender.close()
    if (!('error' in outcome)) return
    const about = { to: mail.to, why: outcome.error.message }
    if (outcome.state !== 'later') {
      log.warn(about, 'a mail to an account was refused, or its answer was lost: it is not sent again')
      return
    }
    await undo?.()
    log.warn(about, 'a mail to an account could not be sent; it is tried again')
    throw outcome.error
  }

  return {
    async confirm(id: string): Promise<void> {
      const mail = await pendingMail(sql, id, now())
      if (mail === undefined || smtp === undefined) return
      const token = await write(writer, (tx) => issueToken(tx, id, now()))
      const message = confirmationEmail(mail, `${home()}/verify/${token}`)
      await send('account', { to: mail.address, message }, () => write(writer, (tx) => returnToken(tx, id)))
    },

    async invite(id: string): Promise<void> {
      const invitation = await pendingInvitation(sql, id)
      if (invitation === undefined) return
      if (!(await write(writer, (tx) => reserveMail(tx, invitation, config.mail, now())))) {
        log.info(
          { to: invitation.address },
          'an invitation is not mailed: the budget of this hour is used up',
        )
        return
      }
      const message = invitationEmail(invitation, `${home()}/`)
      await send('account', { to: invitation.address, message }, () =>
        write(writer, (tx) => releaseMail(tx, invitation, now())),
      )
    },

    /** Tells a person that a comment mentions them. Beyond the hour's budget only the bell does. */
    async mention(mention: Mention): Promise<void> {
      const facts = await readMention(sql, mention)
      if (facts === undefined) return
      const { address: to } = facts
      const message = mentionEmail(facts, home())
      if (smtp === undefined) {
        log.info(
          { mail: { to, subject: message.subject } },
          'no mail server is set (SVC_SMTP_URL): this mail was not sent',
        )
        return
      }
      if (!(await isMailable(sql, to, config.mail.allowedDomains))) return
      if (!(await write(writer, (tx) => reserveMail(tx, facts, config.mail, now())))) {
        log.info({ to }, 'a mention is not mailed: the budget of this hour is used up')
        return
      }
      await send('mention', { to, message }, () => write(writer, (tx) => releaseMail(tx, facts, now())))
    },

    /** Notifies the owner of an agent that it was registered, or that its token was replaced (contract §10). */
    async agent(registered: AgentMail): Promise<void> {
      const found = await ownerOfAgent(sql, registered.agent)
      if (found === undefined) return
      const { email: to, hostname } = found
      const message = agentEmail(registered, hostname)
      if (smtp === undefined) {
        log.info({ mail: { to, ...message } }, 'no mail server is set (SVC_SMTP_URL): this mail was not sent')
      } else if (await isMailable(sql, to, config.mail.allowedDomains)) {
        await send('agent', { to, message })
      } else {
        log.info(
          { agent: registered.agent },
          'the owner of an agent is not mailed: the address of the account is not verified',
        )
      }
    },
  }
}
