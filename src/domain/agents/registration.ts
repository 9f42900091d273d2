import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { recordAudit } from '../audit.ts'
import { isPerson, type Known } from '../caller.ts'
import { enqueueMessage } from '../outbox.ts'
import { holdQuota } from '../quotas.ts'
import { makeToken, tokenHash } from '../tokens/index.ts'
import { isUuid } from '../uuid.ts'
import { type AgentCaller, ONLINE_MS, onlineSince } from './agent.ts'
import { commandChanges, type Done, hostChanges, type NewStep, recordSteps, userActor } from './steps.ts'

/** Heartbeats are sent to followers at most this often: well within the time that one is valid. */
const NOTIFY_EVERY_MS = 45_000

export interface Registered {
  agentId: string
  /** Shown only once, kept nowhere. */
  token: string
}

/**
 * Registers the actor's agent on a host (specification §3.4, §4.3). The same user and host again is the same agent
 * with a new token: the old one is refused from the next request on, and a revoked agent is back. While the agent is
 * online, only a person may do that: a leaked reporter token must not be enough to replace the agent.
 * @throws Problem agent_online for a reporter token while the agent is online
 * @throws Problem quota_exceeded beyond `most` agents of the actor
 */
export async function registerAgent(
  tx: Tx,
  actor: Known,
  wanted: { hostname: string; capabilities: unknown; version: string },
  most: number,
  now: Date,
): Promise<Done<Registered>> {
  await holdQuota(
    tx,
    actor.user.id,
    { what: 'agents', most, setting: 'SVC_MAX_AGENTS_PER_USER' },
    async () => {
      const [row] = await tx<{ n: number }[]>`/* agents.count_others */
      select count(*)::int n from agents
      where user_id = ${actor.user.id} and hostname <> ${wanted.hostname} and revoked_at is null`
      return row?.n ?? 0
    },
  )
  const token = makeToken('agent')
  const at = now.toISOString()
  const [current] = await tx<{ last_seen_at: string; revoked: boolean }[]>`/* agents.lock_to_register */
    select last_seen_at, revoked_at is not null revoked from agents
    where user_id = ${actor.user.id} and hostname = ${wanted.hostname} for update`
  const online =
    current !== undefined && !current.revoked && Date.parse(current.last_seen_at) > now.getTime() - ONLINE_MS
  if (online && !isPerson(actor)) {
    throw new Problem('agent_online', {
      detail:
        `The agent on ${wanted.hostname} is online. Stop it and wait ${ONLINE_MS / 1000} s, revoke it on the Hosts page, ` +
        "or register with a session's token",
    })
  }
  const [agent] = await tx<{ id: string; key: number; rotated: boolean }[]>`/* agents.register */
    insert into agents (user_id, hostname, capabilities, version, token_hash, token_id, registered_at, last_seen_at, told_at)
    values (${actor.user.id}, ${wanted.hostname}, ${JSON.stringify(wanted.capabilities)}::text::jsonb, ${wanted.version},
      ${tokenHash(token)}, gen_random_uuid(), ${at}, ${at}, ${at})
    on conflict (user_id, hostname) do update set capabilities = excluded.capabilities, version = excluded.version,
      token_hash = excluded.token_hash, token_id = excluded.token_id, last_seen_at = excluded.last_seen_at,
      told_at = excluded.told_at, rotated_at = excluded.registered_at, revoked_at = null
    returning id, key, xmax <> 0 as rotated`
  if (agent === undefined) throw new Error('the agent was not stored')
  if (online || !isPerson(actor)) {
    // Mailed: every registration with a reporter token, which may have leaked, and one by a person that replaced the token
    // of an agent that was online.
    await enqueueMessage(tx, {
      registered: {
        agent: agent.id,
        at,
        by: isPerson(actor) ? 'session' : 'reporter_token',
        replaced: current !== undefined && !current.revoked,
      },
    })
  }
  const detail = { hostname: wanted.hostname, version: wanted.version, rotated: agent.rotated }
  await recordAudit(tx, actor, { action: 'agent.registered', subject: `agent:${agent.id}`, detail }, now)
  return { result: { agentId: agent.id, token }, changes: hostChanges(agent) }
}

/** Whom to write to about an agent; undefined once the agent or the account was deleted. */
export async function ownerOfAgent(
  db: Db,
  agentId: string,
): Promise<{ email: string; hostname: string } | undefined> {
  const [row] = await db<{ email: string; hostname: string }[]>`/* agents.owner */
    select u.email, a.hostname from agents a join users u on u.id = a.user_id
    where a.id = ${agentId} and u.disabled_at is null`
  return row
}

/**
 * Revokes an agent: its token and those it was given for its processes are refused from the next request on, and
 * nothing that waits for it is done. What it runs goes on without it. Again changes nothing.
 * @throws Problem agent_not_found, also for another's, unless the actor is an administrator
 */
export async function revokeAgent(tx: Tx, actor: Known, id: string, now: Date): Promise<Done<void>> {
  const [agent] = isUuid(id)
    ? await tx<
        { id: string; key: number; user_id: string; hostname: string; revoked: boolean }[]
      >`/* agents.lock */
        select id, key, user_id, hostname, revoked_at is not null revoked from agents where id = ${id} for update`
    : []
  if (agent === undefined || (agent.user_id !== actor.user.id && actor.user.role !== 'admin')) {
    throw new Problem('agent_not_found')
  }
  if (agent.revoked) return { result: undefined, changes: [] }
  const at = now.toISOString()
  await tx`/* agents.revoke */
    update agents set revoked_at = ${at}, token_hash = null, token_id = null, running = '[]', running_at = ${at}
    where id = ${id}`
  await tx`/* agents.revoke_tokens */
    update tokens set revoked_at = ${at}
    where revoked_at is null and command_id in (select c.id from agent_commands c where c.agent_id = ${id})`
  const closed = await tx<
    { id: string; batch_key: number; state: 'cancelled' | 'failed' }[]
  >`/* commands.close_of_agent */
    update agent_commands set finished_at = ${at},
      state = case state when 'pending' then 'cancelled' else 'failed' end,
      failure_reason = case state when 'pending' then null else 'agent_revoked' end
    where agent_id = ${id} and state in ('pending', 'in_flight')
    returning id, batch_key, state`
  await recordSteps(
    tx,
    closed.map(
      ({ id: commandId, batch_key: batchKey, state }): NewStep => ({
        batchKey,
        commandId,
        step: state,
        at: now,
        actor: userActor(actor.user),
        detail: { failure_reason: 'agent_revoked' },
      }),
    ),
  )
  const detail = { hostname: agent.hostname, closed: closed.length }
  await recordAudit(tx, actor, { action: 'agent.revoked', subject: `agent:${id}`, detail }, now)
  const changed = await commandChanges(
    tx,
    closed.map((command) => command.id),
  )
  return { result: undefined, changes: [...hostChanges(agent), ...changed] }
}

/**
 * Records a sign of life, and the running processes if the agent sent them.
 * @returns the changes: that it is online again, that other processes run, and now and then that it is alive
 */
export async function noteAlive(
  tx: Tx,
  agent: AgentCaller,
  running: readonly { cmd_id: string; pid: number }[] | undefined,
  now: Date,
): Promise<Change[]> {
  const at = now.toISOString()
  const list = running === undefined ? null : JSON.stringify(running)
  const [row] = await tx<{ tell: boolean }[]>`/* agents.alive */
    update agents a set
      last_seen_at = greatest(a.last_seen_at, ${at}::timestamptz),
      running = coalesce(${list}::text::jsonb, a.running),
      running_at = case when ${list}::text is null then a.running_at else ${at}::timestamptz end,
      told_at = case when w.tell then ${at}::timestamptz else a.told_at end
    from (
      select id, last_seen_at <= ${onlineSince(now)}::timestamptz
        or told_at <= ${new Date(now.getTime() - NOTIFY_EVERY_MS).toISOString()}::timestamptz
        or (${list}::text is not null and running <> ${list}::text::jsonb) as tell
      from agents where id = ${agent.id} for update) w
    where a.id = w.id
    returning w.tell`
  return row?.tell === true ? hostChanges(agent) : []
}
