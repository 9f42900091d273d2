import type { Tx } from '../../db/sql.ts'
import { fragment, sqlWords } from '../../db/sql-fragment.ts'
import { Problem } from '../../problem.ts'
import { recordAudit } from '../audit.ts'
import type { Actor } from '../caller.ts'
import { columnsOf } from '../field.ts'
import { holdQuota } from '../quotas.ts'
import { isUuid } from '../uuid.ts'
import { makeToken, type TokenScope, tokenHash } from './token.ts'
import { type TokenView, tokenFields } from './token-fields.ts'

const COLUMNS = sqlWords(columnsOf(tokenFields, 't'))

/**
 * Creates a token for the user `userId`. `text` is the token itself: returned only here and not stored.
 * @throws Problem quota_exceeded beyond `most` tokens; those of commands do not count
 */
export async function createToken(
  tx: Tx,
  actor: Actor,
  userId: string,
  wanted: { name: string; scope: TokenScope },
  most: number,
  now: Date,
): Promise<{ token: TokenView; text: string }> {
  await holdQuota(tx, userId, { what: 'tokens', most, setting: 'SVC_MAX_TOKENS_PER_USER' }, async () => {
    const [row] = await tx<{ n: number }[]>`/* tokens.count */
      select count(*)::int n from tokens
      where user_id = ${userId} and revoked_at is null and command_id is null`
    return row?.n ?? 0
  })
  const text = makeToken(wanted.scope)
  const [token] = await tx<TokenView[]>`/* tokens.create */
    insert into tokens as t (user_id, name, scope, hash, last4, created_at)
    values (${userId}, ${wanted.name}, ${wanted.scope}, ${tokenHash(text)}, ${text.slice(-4)}, ${now.toISOString()})
    returning ${fragment(tx, COLUMNS)}`
  if (token === undefined) throw new Error('the token was not stored')
  const detail = { name: token.name, scope: token.scope, last4: token.last4 }
  await recordAudit(tx, actor, { action: 'token.created', subject: `token:${token.id}`, detail }, now)
  return { token, text }
}

/** Revokes a token of the user `userId`: refused from the next request on. Throws `token_not_found`, also for another's. */
export async function revokeToken(
  tx: Tx,
  actor: Actor,
  userId: string,
  id: string,
  now: Date,
): Promise<void> {
  const [token] = isUuid(id)
    ? await tx<{ name: string; last4: string }[]>`/* tokens.revoke */
        update tokens set revoked_at = ${now.toISOString()}
        where id = ${id} and user_id = ${userId} and revoked_at is null
        returning name, last4`
    : []
  if (token === undefined) throw new Problem('token_not_found')
  await recordAudit(tx, actor, { action: 'token.revoked', subject: `token:${id}`, detail: { ...token } }, now)
}

/** Records that the token is in use, at most once a minute; requests at the same time do not wait for each other. */
export async function touchToken(tx: Tx, id: string, now: Date): Promise<void> {
  const at = now.toISOString()
  await tx`/* tokens.touch */
    update tokens set last_used_at = ${at}
    where id = (select id from tokens
                where id = ${id} and (last_used_at is null or last_used_at < ${at}::timestamptz - interval '1 minute')
                for update skip locked)`
}
