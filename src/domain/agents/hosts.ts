import type { Db, Fragment } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { requireReader, visibleProjectsFilter } from '../access.ts'
import { clockSkewS } from '../batches/index.ts'
import { isAdmin, type Known } from '../caller.ts'
import { isUuid } from '../uuid.ts'
import { isOnline, onlineSince, POLL_INTERVAL_S } from './agent.ts'
import type { HostView } from './host-fields.ts'

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

const columns = (db: Db): Fragment => db`
  a.id, a.key, a.user_id, u.name owner_name, a.hostname, a.capabilities, a.version, a.last_seen_at, a.registered_at,
  a.rotated_at, a.revoked_at, a.running,
  (select count(*)::int from agent_commands c where c.agent_id = a.id and c.state = 'pending') pending_commands,
  true has_agent, ${skewsOf(db, db`a.user_id`, db`a.hostname`)} clock_skews`

/** From the newest batch that its owner ran on the host. */
const skewsOf = (db: Db, owner: Fragment, hostname: Fragment): Fragment => db`coalesce((
  select s.clock_skews from batches b join batch_progress s on s.batch_key = b.key
  where filter_text(b.host) = filter_text(${hostname}) and b.host = ${hostname} and b.owner_id = ${owner}
    and b.deleted_at is null
  order by b.started_at desc, b.key desc limit 1), '{}')`

/**
 * Hosts that batches reported from, whose owners have no agent there, with the same columns as agents. Their ids are
 * derived from the owner and the host's name (UUID version 5).
 */
const agentless = (db: Db, caller: Known): Fragment => db`
  select (substr(r.hash, 1, 12) || '5' || substr(r.hash, 14, 3) || 'a' || substr(r.hash, 18))::uuid id, 0::bigint as key,
    r.owner_id user_id, u.name owner_name, r.host hostname, '{}'::jsonb capabilities, '' version, r.last_seen_at,
    r.registered_at, null::timestamptz rotated_at, null::timestamptz revoked_at, '[]'::jsonb running, 0 pending_commands, false has_agent,
    ${skewsOf(db, db`r.owner_id`, db`r.host`)} clock_skews
  from (
    select o.owner_id, o.host, md5(o.owner_id::text || chr(10) || o.host) hash, min(o.created_at) registered_at,
      max(coalesce(p.last_received_at, p.last_seen_at)) last_seen_at
    from batches o join batch_progress p on p.batch_key = o.key
    where o.host is not null and o.deleted_at is null
      and ${isAdmin(caller) ? db`true` : db`o.owner_id = ${caller.user.id}::uuid`}
      and not exists (select from agents a where a.user_id = o.owner_id and a.hostname = o.host)
    group by o.owner_id, o.host) r
  join users u on u.id = r.owner_id`

/** All hosts of the caller, as rows `h`. */
const hostsSeen = (db: Db, caller: Known): Fragment => db`(
  select ${columns(db)} from agents a join users u on u.id = a.user_id where ${seenBy(db, caller)}
  union all
  ${agentless(db, caller)}) h`

/** Only their owners and administrators see agents (contract §2). */
const seenBy = (db: Db, caller: Known): Fragment =>
  isAdmin(caller) ? db`true` : db`a.user_id = ${caller.user.id}::uuid`

export interface HostPosition {
  createdAt: string
  id: string
}

/**
 * The caller's hosts, with or without an agent, or all hosts for an administrator; newest first, `limit` after `after`.
 * @throws Problem forbidden for tokens that may not read
 */
export async function listHosts(
  db: Db,
  caller: Known,
  page: { limit: number; after: HostPosition | undefined },
): Promise<HostRow[]> {
  requireReader(caller)
  const { after } = page
  return db<HostRow[]>`/* hosts.list */
    select h.* from ${hostsSeen(db, caller)}
    ${after ? db`where (h.registered_at, h.id) < (${after.createdAt}::timestamptz, ${after.id}::uuid)` : db``}
    order by h.registered_at desc, h.id desc limit ${page.limit}`
}

/** How many hosts `listHosts` has in all. */
export async function countHosts(db: Db, caller: Known): Promise<number> {
  const [row] = await db<
    { n: number }[]
  >`/* hosts.count */ select count(*)::int n from ${hostsSeen(db, caller)}`
  return row?.n ?? 0
}

/** @throws Problem agent_not_found, also for an agent of another user; forbidden for tokens that may not read */
export async function readHost(db: Db, caller: Known, id: string): Promise<HostRow> {
  requireReader(caller)
  const [row] = isUuid(id)
    ? await db<HostRow[]>`/* hosts.read */
        select h.* from ${hostsSeen(db, caller)} where h.id = ${id}`
    : []
  if (row === undefined) throw new Problem('agent_not_found')
  return row
}

/** The rows of these agents by key. The permission was checked before. */
export async function hostsByKey(db: Db, keys: readonly number[]): Promise<HostRow[]> {
  if (keys.length === 0) return []
  return db<HostRow[]>`/* hosts.by_key */
    select ${columns(db)} from agents a join users u on u.id = a.user_id where a.key = any (${keys}::bigint[])`
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

/**
 * The agent of the batch's owner on the batch's host (contract §4 `host_id`), and whether it is online; by batch key.
 * One plan for any number of keys, as in `readBatches`.
 */
export async function hostsOfBatches(
  db: Db,
  batchKeys: readonly number[],
  now: Date,
): Promise<Map<number, AgentOfBatch>> {
  if (batchKeys.length === 0) return new Map()
  const rows = await db<({ key: number } & AgentOfBatch)[]>`/* hosts.of_batches */
    select b.key, a.id, a.hostname, a.last_seen_at, a.version, jsonb_array_length(a.running) running,
      a.last_seen_at > ${onlineSince(now)}::timestamptz as online
    from batches b join agents a on a.user_id = b.owner_id and a.hostname = b.host
    where b.key = any ((select ${batchKeys}::bigint[])::bigint[]) and a.revoked_at is null`
  return new Map(rows.map(({ key, ...host }) => [key, host]))
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
  const rows = await db<{ id: string }[]>`/* hosts.followed */
    select a.id from agents a where a.id = any (${ids.filter(isUuid)}::uuid[]) and ${seenBy(db, caller)}`
  return new Set(rows.map((row) => row.id))
}
