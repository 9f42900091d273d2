import type { PrismaClient } from '../../db/prisma.ts'
import type { Db } from '../../db/sql.ts'
import { type SqlFragment, sqlFragment } from '../../db/sql-fragment.ts'
import type { CallerUser } from '../caller.ts'
import type { CreationPosition } from '../cursors.ts'
import { recordRows } from '../record-rows.ts'
import { hasValidChecksum, type TokenKind, type TokenScope, tokenHash, tokenKind } from './token.ts'
import { type TokenView, tokenFields } from './token-fields.ts'

/** The owner and the permissions of a valid token. */
export interface FoundToken {
  /** Unique to each token, also to each of an agent's. */
  id: string
  kind: TokenKind
  user: CallerUser
  /** Whether its use was not recorded for a minute: then `touchToken` records it. */
  stale: boolean
  /** The agent whose token it is. */
  agent: { id: string; key: number; hostname: string } | null
  /** The command for whose process it was made. */
  commandId: string | null
  /** The one batch that a token of a command reports; null before its first event, and for every other token. */
  batchId: string | null
}

/**
 * The token behind the text; undefined when it is not one of ours, was revoked or replaced, or its user is disabled.
 * A text whose checksum is wrong costs no query.
 */
export async function findToken(db: Db, text: string, now: Date): Promise<FoundToken | undefined> {
  if (!hasValidChecksum(text)) return undefined
  return tokenKind(text) === 'agent' ? findAgentToken(db, text) : findProgramToken(db, text, now)
}

async function findProgramToken(db: Db, text: string, now: Date): Promise<FoundToken | undefined> {
  const [row] = await db<
    (CallerUser & {
      tokenId: string
      kind: TokenScope
      stale: boolean
      commandId: string | null
      batchId: string | null
    })[]
  >`/* tokens.find */
    select t.id as "tokenId", t.scope kind, t.command_id "commandId", t.batch_id "batchId",
           t.last_used_at is null or t.last_used_at < ${now.toISOString()}::timestamptz - interval '1 minute' as stale,
           u.id, u.email, u.name, u.role
    from tokens t join users u on u.id = t.user_id
    where t.hash = ${tokenHash(text)} and t.revoked_at is null and u.disabled_at is null`
  if (row === undefined) return undefined
  const { tokenId, kind, stale, commandId, batchId, ...user } = row
  return { id: tokenId, kind, user, stale, agent: null, commandId, batchId }
}

async function findAgentToken(db: Db, text: string): Promise<FoundToken | undefined> {
  const [row] = await db<
    (CallerUser & { tokenId: string; agentId: string; key: number; hostname: string })[]
  >`/* tokens.find_agent */
    select a.token_id "tokenId", a.id "agentId", a.key, a.hostname, u.id, u.email, u.name, u.role
    from agents a join users u on u.id = a.user_id
    where a.token_hash = ${tokenHash(text)} and a.revoked_at is null and u.disabled_at is null`
  if (row === undefined) return undefined
  const { tokenId, agentId, key, hostname, ...user } = row
  // Signs of life of an agent are recorded where it polls for commands (domain/agents).
  return {
    id: tokenId,
    kind: 'agent',
    user,
    stale: false,
    agent: { id: agentId, key, hostname },
    commandId: null,
    batchId: null,
  }
}

/**
 * The user's tokens that were not revoked, without those made for the process of a command, newest first: `limit` after
 * `after`.
 */
export async function listTokens(
  prisma: PrismaClient,
  userId: string,
  { limit, after }: { limit: number; after: CreationPosition | undefined },
): Promise<TokenView[]> {
  const found = await prisma.token.findMany({
    where: { userId, revokedAt: null, commandId: null, ...(after !== undefined && createdBefore(after)) },
    select: record.select,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: limit,
  })
  return found.map(record.rowOf)
}

const record = recordRows<TokenView>(tokenFields, {})

/** Keyset pagination in the order of creation. Tokens are made with whole milliseconds, so a Date has all of it. */
const createdBefore = ({ createdAt, id }: CreationPosition) => ({
  OR: [{ createdAt: { lt: new Date(createdAt) } }, { createdAt: new Date(createdAt), id: { lt: id } }],
})

/** Those of these tokens that hold at this moment: not revoked or replaced, and their user not disabled. */
export const validTokens = (ids: readonly string[]): SqlFragment => sqlFragment`
  select t.id from tokens t join users u on u.id = t.user_id
  where t.id = any (string_to_array(${ids.join(',')}, ',')::uuid[]) and t.revoked_at is null and u.disabled_at is null
  union all
  select a.token_id id from agents a join users u on u.id = a.user_id
  where a.token_id = any (string_to_array(${ids.join(',')}, ',')::uuid[]) and a.revoked_at is null and u.disabled_at is null`
