import { instantOf } from '../../db/instant.ts'
import type { Db, Tx } from '../../db/sql.ts'

/** The most mails an hour: of one project, and to one recipient from all senders together. */
export interface MailLimits {
  perProject: number
  perRecipient: number
}

export interface MailOf {
  projectKey: number
  address: string
}

const HOUR_MS = 3_600_000
const hourOf = (now: Date): string => instantOf(new Date(Math.floor(now.getTime() / HOUR_MS) * HOUR_MS))
const scopesOf = ({ projectKey, address }: MailOf) => ({
  project: `project:${projectKey}`,
  recipient: `recipient:${address.toLowerCase()}`,
})

/**
 * Counts one mail in this hour's budgets of its project and of its recipient.
 * @returns false, and counts nothing, if one of them is used up
 */
export async function reserveMail(tx: Tx, mail: MailOf, limits: MailLimits, now: Date): Promise<boolean> {
  const { project, recipient } = scopesOf(mail)
  const hour = hourOf(now)
  // Always in this order, so that two transactions cannot wait for each other.
  if (!(await reserve(tx, project, hour, limits.perProject))) return false
  if (await reserve(tx, recipient, hour, limits.perRecipient)) return true
  await release(tx, [project], hour)
  return false
}

/** Takes back the count of a mail that the mail server did not accept. */
export async function releaseMail(db: Db, mail: MailOf, now: Date): Promise<void> {
  const { project, recipient } = scopesOf(mail)
  await release(db, [project, recipient], hourOf(now))
}

async function reserve(tx: Tx, scope: string, hour: string, most: number): Promise<boolean> {
  const taken = await tx`/* addresses.take_mail */
    insert into mail_budgets as b (scope, hour, sent) values (${scope}, ${hour}, 1)
    on conflict (scope, hour) do update set sent = b.sent + 1 where b.sent < ${most}
    returning 1`
  return taken.length > 0
}

async function release(db: Db, scopes: string[], hour: string): Promise<void> {
  await db`/* addresses.give_back_mail */
    update mail_budgets set sent = sent - 1 where scope = any (${scopes}::text[]) and hour = ${hour} and sent > 0`
}
