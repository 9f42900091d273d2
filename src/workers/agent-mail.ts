import type { Task } from 'graphile-worker'
import type { Logger } from 'pino'
import type { Config } from '../config.ts'
import type { Sql } from '../db/sql.ts'
import { isMailable } from '../domain/addresses/index.ts'
import { type AgentMail, ownerOfAgent } from '../domain/agents/index.ts'
import { messageOf } from '../thrown.ts'
import { addressIn, composeMail } from './outgoing.ts'
import { MailRejected, MailUnconfirmed, openSmtp } from './smtp.ts'

interface Services {
  config: Pick<Config, 'smtp' | 'mail'>
  sql: Sql
  now: () => Date
  log: Logger
}

/**
 * The task `agent_mail` of graphile-worker: notifies the owner of an agent that it was registered, or that another
 * registration replaced its token (contract §10). It throws while the mail server cannot be reached; graphile-worker then retries with growing pauses.
 */
export function createAgentMailTask({ config, sql, now, log }: Services): Task {
  return async (payload) => {
    const { agent, at, by = 'session', replaced = true } = payload as AgentMail
    const found = await ownerOfAgent(sql, agent)
    if (found === undefined) return
    const { email, hostname } = found
    const host = oneLine(hostname)
    const subject = replaced ? `The agent on ${host} has a new token` : `An agent on ${host} was registered`
    const source = by === 'session' ? 'a session' : 'a reporter token'
    const text = [
      `The agent on ${host} was registered ${replaced ? 'again ' : ''}at ${at} by ${source} of your account.`,
      ...(replaced ? ['The token that it had before was refused from then on.'] : []),
      '',
      by === 'session'
        ? 'If that was you, there is nothing to do. If not, revoke the agent on the Hosts page, change your password, and'
        : 'If that was you, there is nothing to do. If not, revoke the agent on the Hosts page, and your reporter tokens',
      by === 'session'
        ? 'sign out everywhere: the holder of the new token receives the commands of your reruns on that host.'
        : 'on the Tokens page: the holder of the new token receives the commands of your reruns on that host.',
      '',
    ].join('\n')
    if (config.smtp === undefined) {
      log.info(
        { mail: { to: email, subject, text } },
        'no mail server is set (SVC_SMTP_URL): this mail was not sent',
      )
      return
    }
    if (!(await isMailable(sql, email, config.mail.allowedDomains))) {
      log.info({ agent }, 'the owner of an agent is not mailed: the address of the account is not verified')
      return
    }
    const { url, from } = config.smtp
    const bytes = await composeMail({
      from,
      to: email,
      message: { subject, text },
      date: now(),
    })
    try {
      const session = await openSmtp(url)
      await session.send({ from: addressIn(from), to: email, bytes }, async () => {})
      session.close()
    } catch (error) {
      const final = error instanceof MailUnconfirmed || (error instanceof MailRejected && error.permanent)
      log.warn({ to: email, why: messageOf(error) }, 'the mail about an agent could not be sent')
      if (!final) throw error
    }
  }
}

/** Replaces line breaks, which would end a header line. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').slice(0, 253)
