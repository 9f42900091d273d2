import { instantOf } from '../../db/instant.ts'
import type { PrismaClient } from '../../db/prisma.ts'
import type { Db } from '../../db/sql.ts'
import { fragment, sqlWords } from '../../db/sql-fragment.ts'
import { Problem } from '../../problem.ts'
import { requireReader, visibleProjectsFilter } from '../access.ts'
import { clockSkewS } from '../batches/index.ts'
import { isAdmin, type Known } from '../caller.ts'
import type { CreationPosition } from '../cursors.ts'
import { columnsOf } from '../field.ts'
import { type Besides, besideColumns, olderThan, recordRows } from '../record-rows.ts'
import { isUuid } from '../uuid.ts'
import { isOnline, onlineSince, POLL_INTERVAL_S } from './agent.ts'
import { type HostView, hostFields } from './host-fields.ts'

export interface HostRow {
  id: string
  key: number
  user_id: string
  owner_name: string
  hostname: string
  capabilities: unknown
  version: string
  last_seen_at: string
  registered_at: string
  rotated_at: string | null
  revoked_at: string | null
  running: { cmd_id: string; pid: number }[]
  pending_commands: number
  has_agent: boolean
  clock_skews: number[]
}

export function hostView(row: HostRow, now: Date): HostView {
  return {
    id: row.id,
    agent_id: row.has_agent ? row.id : null,
    hostname: row.hostname,
    capabilities: row.capabilities,
    version: row.version,
    owner: { id: row.user_id, name: row.owner_name },
    online: row.has_agent && isOnline({ lastSeenAt: row.last_seen_at, revokedAt: row.revoked_at }, now),
    last_seen_at: row.last_seen_at,
    registered_at: row.registered_at,
    rotated_at: row.rotated_at,
    revoked_at: row.revoked_at,
    poll_interval_s: POLL_INTERVAL_S,
    running: row.running,
    pending_commands: row.pending_commands,
    clock_skew_s: clockSkewS(row.clock_skews),
  }
}

/** What a row of the view `hosts` has besides the columns of its fields, over `h` and its owner `u`. */
const besideHost = {
  id: { sql: 'h.id', from: 'id' },
  key: { sql: 'h.key', from: 'key' },
  user_id: { sql: 'h.user_id', from: 'userId' },
  owner_name: { sql: 'u.name', from: 'owner.name' },
  has_agent: { sql: 'h.has_agent', from: 'hasAgent' },
  clock_skews: { sql: 'h.clock_skews', from: 'clockSkews' },
} as const satisfies Besides
const record = recordRows<HostRow>(hostFields, besideHost)
const COLUMNS = sqlWords(`${columnsOf(hostFields, 'h')}, ${besideColumns(besideHost)}`)

/**
 * The caller's hosts, with or without an agent, or all hosts for an administrator; newest first, `limit` after `after`.
 * @throws Problem forbidden for tokens that may not read
 */
export async function listHosts(
  prisma: PrismaClient,
  caller: Known,
  { limit, after }: { limit: number; after: CreationPosition | undefined },
): Promise<HostRow[]> {
  requireReader(caller)
  const found = await prisma.host.findMany({
    where: { AND: [seenBy(caller), after === undefined ? {} : olderThan('registeredAt', after)] },
    relationLoadStrategy: 'join',
    select: record.select,
    orderBy: [{ registeredAt: 'desc' }, { id: 'desc' }],
    take: limit,
  })
  return found.map(record.rowOf)
}

/** How many hosts `listHosts` has in all. */
export const countHosts = (prisma: PrismaClient, caller: Known): Promise<number> =>
  prisma.host.count({ where: seenBy(caller) })

/** @throws Problem agent_not_found, also for an agent of another user; forbidden for tokens that may not read */
export async function readHost(prisma: PrismaClient, caller: Known, id: string): Promise<HostRow> {
  requireReader(caller)
  const found = isUuid(id)
    ? await prisma.host.findFirst({
        where: { AND: [{ id }, seenBy(caller)] },
        relationLoadStrategy: 'join',
        select: record.select,
      })
    : null
  if (found === null) throw new Problem('agent_not_found')
  return record.rowOf(found)
}

/** Only their owners and administrators see hosts (contract §2). */
const seenBy = (caller: Known): { userId?: string } => (isAdmin(caller) ? {} : { userId: caller.user.id })

/** The rows of these agents by key, for the stream. The permission was checked before. */
export async function hostsByKey(db: Db, keys: readonly number[]): Promise<HostRow[]> {
  if (keys.length === 0) return []
  return db<HostRow[]>`/* hosts.by_key */
    select ${fragment(db, COLUMNS)} from hosts h join users u on u.id = h.user_id where h.key = any (${keys}::bigint[])`
}

/** The agent that would rerun a batch. */
export interface AgentOfBatch {
  id: string
  hostname: string
  online: boolean
  last_seen_at: string
  version: string
  running: number
}

/** The agents of the batches' owners on the batches' hosts, by batch key, and whether they are online. */
export async function agentsOf(
  prisma: PrismaClient,
  batches: readonly { key: number; owner_id: string; host: string | null }[],
  now: Date,
): Promise<Map<number, AgentOfBatch>> {
  const hosts = batches.flatMap(({ host }) => host ?? [])
  if (hosts.length === 0) return new Map()
  const found = await prisma.agent.findMany({
    where: {
      userId: { in: [...new Set(batches.map((batch) => batch.owner_id))] },
      hostname: { in: [...new Set(hosts)] },
      revokedAt: null,
    },
    select: { id: true, userId: true, hostname: true, version: true, lastSeenAt: true, running: true },
  })
  const nameOf = (userId: string, hostname: string | null) => JSON.stringify([userId, hostname])
  const since = Date.parse(onlineSince(now))
  const byName = new Map(
    found.map(({ id, userId, hostname, version, lastSeenAt, running }): [string, AgentOfBatch] => [
      nameOf(userId, hostname),
      {
        id,
        hostname,
        online: lastSeenAt.getTime() > since,
        last_seen_at: instantOf(lastSeenAt),
        version,
        running: Array.isArray(running) ? running.length : 0,
      },
    ]),
  )
  return new Map(
    batches.flatMap(({ key, owner_id, host }) => {
      const agent = byName.get(nameOf(owner_id, host))
      return agent === undefined ? [] : [[key, agent] as const]
    }),
  )
}

/**
 * The ids of these agents (contract §4 `host_id`), by batch key. One plan for any number of keys, as in `readBatches`.
 */
export async function hostIdsOf(db: Db, batchKeys: readonly number[]): Promise<Map<number, string>> {
  if (batchKeys.length === 0) return new Map()
  const rows = await db<{ key: number; id: string }[]>`/* hosts.of_batches */
    select b.key, a.id
    from batches b join agents a on a.user_id = b.owner_id and a.hostname = b.host
    where b.key = any ((select ${batchKeys}::bigint[])::bigint[]) and a.revoked_at is null`
  return new Map(rows.map(({ key, id }) => [key, id]))
}

/** How many batches one page of a host shows resources of. */
const MAX_BATCHES = 20

/** The newest batches that ran on the host within a span of Unix seconds and that the caller may see. */
export async function batchesOnHost(
  db: Db,
  caller: Known,
  host: { user_id: string; hostname: string },
  span: { from: number; to: number },
): Promise<{ key: number; id: string }[]> {
  return db<{ key: number; id: string }[]>`/* hosts.batches */
    select b.key, b.id from batches b
    join projects p on p.key = b.project_key
    join batch_progress s on s.batch_key = b.key
    where b.owner_id = ${host.user_id} and b.host = ${host.hostname} and b.deleted_at is null
      and s.last_seen_at >= to_timestamp(${span.from}) and b.started_at <= to_timestamp(${span.to})
      and ${visibleProjectsFilter(db, caller)}
    order by b.started_at desc, b.key desc limit ${MAX_BATCHES}`
}

/** The agents that the caller may follow: its own, all of them for an administrator. */
export async function hostsFollowed(db: Db, caller: Known, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const seen = isAdmin(caller) ? db`true` : db`a.user_id = ${caller.user.id}::uuid`
  const rows = await db<{ id: string }[]>`/* hosts.followed */
    select a.id from agents a where a.id = any (${ids.filter(isUuid)}::uuid[]) and ${seen}`
  return new Set(rows.map((row) => row.id))
}
