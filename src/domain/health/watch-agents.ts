import type { Db, Tx } from '../../db/sql.ts'
import type { Change } from '../../stream/change.ts'
import { hostChanges, isAway, onlineSince } from '../agents/index.ts'
import { type Clock, sinceMs } from '../liveness.ts'
import { fireRules, type Happening } from '../notifications/index.ts'
import { updateEpisodes } from './episodes.ts'
import { countOf, type WatchResult } from './watch.ts'

/** A project is notified about an agent if it got batches from it within this time. */
const CONCERNED = '7 days'

/** The agents whose open episode may differ from their state. */
export async function agentsDue(db: Db, clock: Clock): Promise<number[]> {
  const rows = await db<{ key: number }[]>`/* watch.agents_due */
    select a.key from agents a
    left join verdicts v on v.kind = 'agent_offline' and v.subject_key = a.key and v.cleared_at is null
    where (a.revoked_at is null and a.last_seen_at <= ${onlineSince(clock.now)}::timestamptz) <> (v.key is not null)
    order by a.key`
  return rows.map((row) => row.key)
}

interface AgentRow {
  key: number
  id: string
  user_id: string
  hostname: string
  last_seen_at: string
  revoked_at: string | null
}

/** Evaluates these agents and updates their episodes, as `watchBatches` does for batches. */
export async function watchAgents(
  tx: Tx,
  keys: readonly number[],
  clock: Clock,
): Promise<{ result: WatchResult; changes: Change[] }> {
  const agents = await tx<AgentRow[]>`/* watch.lock_agents */
    select key, id, user_id, hostname, last_seen_at, revoked_at from agents
    where key = any (${keys}::bigint[]) order by key for update`
  const away = agents.filter((agent) =>
    isAway({ lastSeenAt: agent.last_seen_at, revokedAt: agent.revoked_at }, clock),
  )
  const settled = await updateEpisodes(
    tx,
    { agents: keys },
    away.map((agent) => ({
      kind: 'agent_offline',
      subjectKey: agent.key,
      batchKey: null,
      since: agent.last_seen_at,
      reason: `No sign of life of the agent on ${agent.hostname} since ${agent.last_seen_at}`,
    })),
    clock.now,
  )
  const fresh = settled.opened.filter((finding) => finding.fresh).map((finding) => finding.subjectKey)
  await fireRules(
    tx,
    await concerned(
      tx,
      agents.filter((agent) => fresh.includes(agent.key)),
      clock,
    ),
    clock.now,
  )
  const flipped = new Set([...settled.opened, ...settled.cleared].map((flip) => flip.subjectKey))
  return {
    result: countOf(settled),
    changes: agents.filter((agent) => flipped.has(agent.key)).flatMap(hostChanges),
  }
}

/** One occurrence for each project that has batches of these agents' owners on their hosts. */
async function concerned(tx: Tx, agents: readonly AgentRow[], clock: Clock): Promise<Happening[]> {
  if (agents.length === 0) return []
  const rows = await tx<{ key: number; project_key: number }[]>`/* watch.concerned */
    select distinct a.key, b.project_key
    from agents a join batches b on filter_text(b.host) = filter_text(a.hostname) and b.owner_id = a.user_id
    join batch_progress p on p.batch_key = b.key
    where a.key = any (${agents.map((agent) => agent.key)}::bigint[]) and b.deleted_at is null
      and (b.status = 'running' or p.last_seen_at > ${clock.now.toISOString()}::timestamptz - ${CONCERNED}::interval)`
  return rows.flatMap(({ key, project_key }) => {
    const agent = agents.find((one) => one.key === key)
    if (agent === undefined) return []
    return {
      trigger: 'agent_offline',
      projectKey: project_key,
      batchKey: null,
      key: `offline:${key}:${agent.last_seen_at}`,
      at: clock.now.toISOString(),
      detail: {
        host: agent.hostname,
        silentS: Math.floor(sinceMs(agent.last_seen_at, clock.now) / 1000),
      },
    }
  })
}
