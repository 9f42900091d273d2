import type { Task } from 'graphile-worker'
import type { Config } from '../config.ts'
import { noticeFiring, noticesOf } from '../domain/notices/index.ts'
import { readChannels, readFacts } from '../domain/notifications/index.ts'
import type { AgentMail, Outgoing } from '../domain/outbox.ts'
import { commit } from '../stream/commit.ts'
import { createAccountMail } from './account-mail.ts'
import { createChannelSender } from './channel-sender.ts'
import { createRuleMail } from './mail.ts'
import { baseUrlOf, type MailServices, pageOf } from './outgoing.ts'

export interface OutboxServices extends MailServices {
  config: MailServices['config'] & Pick<Config, 'encryptionKey' | 'webhookPrivate'>
}

/**
 * The tasks of graphile-worker that send messages: all are the one task of src/domain/outbox.ts. Those named
 * `account_mail` and `agent_mail` were enqueued by an earlier release.
 */
export function createOutboxTasks(services: OutboxServices): Record<string, Task> {
  const ruleMail = createRuleMail(services)
  const accountMail = createAccountMail(services)
  const channels = createChannelSender(services)

  async function fire(firing: number): Promise<void> {
    const facts = await readFacts(services.sql, firing)
    if (facts === undefined) return
    const wanted = await readChannels(services.sql, facts.rule.id)
    const others = wanted.filter(({ kind }) => kind !== 'mail')
    await commit(services.writer, async (tx) => ({
      result: undefined,
      changes: noticesOf(await noticeFiring(tx, facts, others.length < wanted.length, services.now())),
    }))
    // These first: they only write, and a mail server that is away must not delay them.
    if (others.length > 0)
      await channels.write(facts, others, pageOf(baseUrlOf(services.config, services.port()), facts))
    if (others.length < wanted.length) await ruleMail(facts)
  }

  const send: Task = (payload) => {
    const message = payload as Outgoing
    if ('firing' in message) return fire(message.firing)
    if ('delivery' in message) return channels.deliver(message.delivery)
    if ('confirmation' in message) return accountMail.confirm(message.confirmation)
    if ('mention' in message) return accountMail.mention(message.mention)
    if ('invitation' in message) return accountMail.invite(message.invitation)
    return accountMail.agent(message.registered)
  }
  return {
    mail: send,
    account_mail: send,
    agent_mail: (payload, helpers) => send({ registered: payload as AgentMail }, helpers),
  }
}
