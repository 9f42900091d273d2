import { createHash } from 'node:crypto'
import type { PendingQuery, Row } from 'postgres'
import type { Db } from '../../db/sql.ts'
import type { CallerUser } from '../caller.ts'
import type { CreationPosition } from '../cursors.ts'
import { verifySession } from './jwt.ts'
import { ABSOLUTE_S, IDLE_S, type Session, type SessionRecord } from './session.ts'

export const cookieHash = (cookie: string): Buffer => createHash('sha256').update(cookie).digest()

/** The open session of a JWT; undefined if the token is not ours or has expired, or its session has ended. */
export async function sessionOfJwt(db: Db, token: string, now: Date): Promise<Session | undefined> {
  const claims = await verifySession(db, token, now)
  if (claims === undefined) return undefined
  const row = db`s.id = ${claims.sessionId} and s.user_id = ${claims.userId}`
  return findSession(db, row, now)
}

/** The open session of a browser's cookie. */
export const sessionOfCookie = (db: Db, cookie: string, now: Date): Promise<Session | undefined> =>
  findSession(db, db`s.cookie_hash = ${cookieHash(cookie)}`, now)

async function findSession(db: Db, which: PendingQuery<Row[]>, now: Date): Promise<Session | undefined> {
  const at = now.toISOString()
  const [row] = await db<
    (CallerUser & { sessionId: string; createdAt: string; stale: boolean; hasSecondFactor: boolean })[]
  >`/* sessions.find */
    select s.id as "sessionId", s.created_at as "createdAt",
           s.last_used_at < ${at}::timestamptz - interval '1 minute' as stale,
           s.method in ('passkey', 'provider') or exists (
             select from totp_factors t where t.user_id = u.id and t.confirmed_at is not null) as "hasSecondFactor",
           u.id, u.email, u.name, u.role
    from sessions s join users u on u.id = s.user_id
    where ${which} and s.closed_at is null and u.disabled_at is null
      and s.last_used_at > ${at}::timestamptz - ${IDLE_S}::integer * interval '1 second'
      and s.created_at > ${at}::timestamptz - ${ABSOLUTE_S}::integer * interval '1 second'`
  if (row === undefined) return undefined
  const { sessionId, createdAt, stale, hasSecondFactor, ...user } = row
  return { id: sessionId, user, createdAt, stale, hasSecondFactor }
}

/** When the user of this session signed in, or proved again who they are. */
export async function lastConfirmed(db: Db, id: string): Promise<Date | undefined> {
  const [row] = await db<{ at: string }[]>`/* sessions.last_confirmed */
    select greatest(created_at, confirmed_at) as at from sessions where id = ${id}`
  return row && new Date(row.at)
}

/** The sessions that are still valid: not closed or expired, and their user not disabled. */
export async function liveSessions(db: Db, ids: string[], now: Date): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const at = now.toISOString()
  const rows = await db<{ id: string }[]>`/* sessions.live */
    select s.id from sessions s join users u on u.id = s.user_id
    where s.id = any (${ids}::uuid[]) and s.closed_at is null and u.disabled_at is null
      and s.last_used_at > ${at}::timestamptz - ${IDLE_S}::integer * interval '1 second'
      and s.created_at > ${at}::timestamptz - ${ABSOLUTE_S}::integer * interval '1 second'`
  return new Set(rows.map((row) => row.id))
}

/** The open sessions of a user, newest first: `limit` after `after`. */
export async function listSessions(
  db: Db,
  userId: string,
  page: { limit: number; after: CreationPosition | undefined },
  now: Date,
): Promise<SessionRecord[]> {
  const at = now.toISOString()
  const { after, limit } = page
  return db<SessionRecord[]>`/* sessions.list */
    select id, user_agent, address, method, created_at, last_used_at
    from sessions
    where user_id = ${userId} and closed_at is null
      and last_used_at > ${at}::timestamptz - ${IDLE_S}::integer * interval '1 second'
      and created_at > ${at}::timestamptz - ${ABSOLUTE_S}::integer * interval '1 second'
      ${after ? db`and (created_at, id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)` : db``}
    order by created_at desc, id desc limit ${limit}`
}

/**
 * Whether the account was signed in to from this address, or in the browser with this cookie, within 90 days, even if
 * the session has ended.
 */
export async function isKnownPlace(
  db: Db,
  emailKey: string,
  place: { address: string; cookie: string | undefined },
  now: Date,
): Promise<boolean> {
  const since = new Date(now.getTime() - ABSOLUTE_S * 1000).toISOString()
  const hash = place.cookie === undefined ? null : cookieHash(place.cookie)
  const [row] = await db<{ known: boolean }[]>`/* sessions.known_place */
    select exists (
      select from sessions s join users u on u.id = s.user_id
      where u.email_key = ${emailKey} and s.created_at > ${since}
        and (s.opened_from = ${place.address} or s.cookie_hash = ${hash}::bytea)) as known`
  return row?.known === true
}
