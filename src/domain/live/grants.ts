import { itemAt } from '../../checked.ts'
import type { Db } from '../../db/sql.ts'
import { fragment } from '../../db/sql-fragment.ts'
import { type ProjectFacts, userMay, type Visibility } from '../access.ts'
import { liveSessions } from '../sessions/index.ts'
import { standingShares } from '../shares/index.ts'
import { validTokens } from '../tokens/index.ts'

/** What a stream's permission rests on. All of it must hold for as long as the stream is open. */
export interface Grant {
  /** Null for anonymous callers. */
  credential: { kind: 'session' | 'token'; id: string } | null
  user: { id: string; role: 'admin' | 'user' } | null
  /** Keys of the projects that must be visible to the user. */
  projects: number[]
  /** Keys of the batches that must not be deleted. */
  batches: number[]
  /** Ids of the shares that must be open. */
  shares: string[]
}

/**
 * Which of these grants no longer hold: session closed or expired, token revoked, user disabled or of another role,
 * project no longer visible, share ended, revoked, or its creator may no longer share; or, `gone`, only its batch was deleted, which its followers may
 * still be told. However many streams, it is a handful of statements.
 */
export async function revokedGrants(
  db: Db,
  grants: readonly Grant[],
  now: Date,
): Promise<Map<Grant, 'forbidden' | 'gone'>> {
  const credentials = (kind: 'session' | 'token') =>
    unique(grants.flatMap(({ credential }) => (credential?.kind === kind ? [credential.id] : [])))
  const [sessions, tokens, users, projects, members, batches, shares] = await Promise.all([
    liveSessions(db, credentials('session'), now),
    standingTokens(db, credentials('token')),
    enabledUsers(db, unique(grants.flatMap(({ user }) => user?.id ?? []))),
    projectFacts(db, unique(grants.flatMap((grant) => grant.projects))),
    memberships(
      db,
      grants.flatMap(({ user, projects: keys }) => (user === null ? [] : keys.map((key) => [user.id, key]))),
    ),
    standingBatches(db, unique(grants.flatMap((grant) => grant.batches))),
    standingShares(db, unique(grants.flatMap((grant) => grant.shares)), now),
  ])

  function isPermitted({ credential, user, ...rests }: Grant): boolean {
    if (credential !== null && !(credential.kind === 'session' ? sessions : tokens).has(credential.id))
      return false
    if (user !== null && users.get(user.id) !== user.role) return false
    return (
      rests.shares.every((id) => shares.has(id)) &&
      rests.projects.every((key) => {
        const facts = projects.get(key)
        const role = (user !== null && members.get(`${user.id} ${key}`)) || null
        return facts !== undefined && userMay('read', user, { ...facts, role })
      })
    )
  }
  const lapsed = new Map<Grant, 'forbidden' | 'gone'>()
  for (const grant of grants) {
    if (!isPermitted(grant)) lapsed.set(grant, 'forbidden')
    else if (!grant.batches.every((key) => batches.has(key))) lapsed.set(grant, 'gone')
  }
  return lapsed
}

const unique = <T>(values: T[]): T[] => [...new Set(values)]

async function standingTokens(db: Db, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db<{ id: string }[]>`/* live.tokens */ ${fragment(db, validTokens(ids))}`
  return new Set(rows.map((row) => row.id))
}

async function enabledUsers(db: Db, ids: string[]): Promise<Map<string, 'admin' | 'user'>> {
  if (ids.length === 0) return new Map()
  const rows = await db<{ id: string; role: 'admin' | 'user' }[]>`/* live.users */
    select id, role from users where id = any (${ids}::uuid[]) and disabled_at is null`
  return new Map(rows.map((row) => [row.id, row.role]))
}

async function projectFacts(
  db: Db,
  keys: number[],
): Promise<Map<number, { visibility: Visibility; ownerId: string }>> {
  if (keys.length === 0) return new Map()
  const rows = await db<{ key: number; visibility: Visibility; owner_id: string }[]>`/* live.projects */
    select key, visibility, owner_id from projects where key = any (${keys}::int[])`
  return new Map(rows.map((row) => [row.key, { visibility: row.visibility, ownerId: row.owner_id }]))
}

/** By `user project`, the role of those who are in it. */
async function memberships(db: Db, pairs: (string | number)[][]): Promise<Map<string, ProjectFacts['role']>> {
  if (pairs.length === 0) return new Map()
  const wanted = unique(pairs.map(([user, project]) => `${user} ${project}`)).map((pair) => pair.split(' '))
  const rows = await db<
    { user_id: string; project_key: number; role: 'member' | 'viewer' }[]
  >`/* live.members */
    select m.user_id, m.project_key, m.role
    from unnest(${wanted.map((pair) => itemAt(pair, 0))}::uuid[], ${wanted.map((pair) => Number(pair[1]))}::int[])
      as w (user_id, project_key)
    join project_members m on m.user_id = w.user_id and m.project_key = w.project_key`
  return new Map(rows.map((row) => [`${row.user_id} ${row.project_key}`, row.role]))
}

async function standingBatches(db: Db, keys: number[]): Promise<Set<number>> {
  if (keys.length === 0) return new Set()
  const rows = await db<{ key: number }[]>`/* live.batches */
    select key from batches where key = any (${keys}::bigint[]) and deleted_at is null and purged_at is null`
  return new Set(rows.map((row) => row.key))
}
