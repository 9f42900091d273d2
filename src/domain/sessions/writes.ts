import { instantOf } from '../../db/instant.ts'
import type { Tx } from '../../db/sql.ts'
import { makeSecret } from '../../secrets.ts'
import { isUuid } from '../uuid.ts'
import { signSession } from './jwt.ts'
import { activeKey } from './keys.ts'
import { cookieHash } from './reads.ts'
import type { OpenedSession, Origin } from './session.ts'

/** Opens a session of the user, with a JWT for programs and a secret for the browser's cookie. */
export async function openSession(
  tx: Tx,
  userId: string,
  { address, userAgent, method }: Origin,
  now: Date,
): Promise<OpenedSession> {
  const cookie = makeSecret(32)
  const at = now.toISOString()
  const [row] = await tx<{ id: string }[]>`/* sessions.open */
    insert into sessions (user_id, cookie_hash, created_at, last_used_at, user_agent, address, opened_from, method)
    values (${userId}, ${cookieHash(cookie)}, ${at}, ${at}, ${userAgent?.slice(0, 512) ?? null}, ${address}, ${address}, ${method})
    returning id`
  if (row === undefined) throw new Error('the session was not stored')
  const { token, expiresAt } = await signSession(await activeKey(tx, now), { userId, sessionId: row.id }, now)
  return { id: row.id, token, expiresAt: instantOf(expiresAt), cookie }
}

/** Records that the session is in use, at most once a minute; requests at the same time do not wait for each other. */
export async function touchSession(tx: Tx, id: string, address: string, now: Date): Promise<void> {
  const at = now.toISOString()
  await tx`/* sessions.touch */
    update sessions set last_used_at = ${at}, address = ${address}
    where id = (select id from sessions
                where id = ${id} and last_used_at < ${at}::timestamptz - interval '1 minute'
                for update skip locked)`
}

/** Records that the user of this session has proved again who they are. */
export async function confirmSession(tx: Tx, id: string, now: Date): Promise<void> {
  await tx`/* sessions.confirm */ update sessions set confirmed_at = ${now.toISOString()} where id = ${id}`
}

/** Ends the session: its cookie and its JWT are refused from the next request on. */
export async function closeSession(tx: Tx, id: string, now: Date): Promise<void> {
  await tx`/* sessions.close */
    update sessions set closed_at = ${now.toISOString()} where id = ${id} and closed_at is null`
}

/** Ends one session of the user. @returns whether there was one that had not ended */
export async function closeOwnSession(tx: Tx, userId: string, id: string, now: Date): Promise<boolean> {
  if (!isUuid(id)) return false
  const closed = await tx`/* sessions.close_own */
    update sessions set closed_at = ${now.toISOString()}
    where id = ${id} and user_id = ${userId} and closed_at is null returning id`
  return closed.length > 0
}

/** Ends all sessions of a user, but `except`. @returns how many */
export async function closeSessionsOf(tx: Tx, userId: string, now: Date, except?: string): Promise<number> {
  const closed = await tx`/* sessions.close_all */
    update sessions set closed_at = ${now.toISOString()}
    where user_id = ${userId} and closed_at is null and id is distinct from ${except ?? null}::uuid
    returning id`
  return closed.length
}
