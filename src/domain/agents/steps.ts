import type { Db, Tx } from '../../db/sql.ts'
import type { Change } from '../../stream/change.ts'
import type { AgentCaller, Step } from './agent.ts'

/** The result of a write and its changes, as `commit` expects them. */
export interface Done<T> {
  result: T
  changes: Change[]
}

export interface NewStep {
  batchKey: number
  /** Null for steps of the batch without a command, such as the stop flag. */
  commandId: string | null
  step: Step
  at: Date
  actor: Actor
  detail?: Record<string, unknown>
}

export interface Actor {
  kind: 'user' | 'agent' | 'reporter' | 'service'
  id: string | null
}

export const SERVICE: Actor = { kind: 'service', id: null }
export const agentActor = (agent: AgentCaller): Actor => ({ kind: 'agent', id: agent.id })
export const userActor = (user: { id: string }): Actor => ({ kind: 'user', id: user.id })

/**
 * Records steps; one that is recorded already does not change. An agent reports steps in order and with their ages, so
 * network delays cannot reverse two of them.
 * @returns how many were new
 */
export async function recordSteps(tx: Tx, steps: readonly NewStep[]): Promise<number> {
  if (steps.length === 0) return 0
  const rows = steps.map(({ batchKey, commandId, step, at, actor, detail = {} }) => ({
    batch_key: batchKey,
    command_id: commandId,
    step,
    at: at.toISOString(),
    actor_kind: actor.kind,
    actor_id: actor.id,
    detail,
  }))
  const written = await tx`/* control.record */
    insert into control_steps (batch_key, command_id, step, at, actor_kind, actor_id, detail)
    select x.batch_key, x.command_id, x.step,
      case when x.actor_kind = 'agent' then greatest(x.at, (
        select max(s.at) from control_steps s where s.command_id = x.command_id and s.actor_kind = 'agent')) else x.at end,
      x.actor_kind, x.actor_id, x.detail
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as x (
      batch_key bigint, command_id uuid, step text, at timestamptz, actor_kind text, actor_id uuid, detail jsonb)
    on conflict do nothing
    returning id`
  return written.length
}

/** The changes of these commands, for followers of their batches and of the batches that their processes report. */
export async function commandChanges(db: Db, commandIds: readonly string[]): Promise<Change[]> {
  if (commandIds.length === 0) return []
  const rows = await db<{ key: number; id: string }[]>`/* commands.batches_of */
    select distinct b.key, b.id from (
      select batch_key from agent_commands where id = any (${commandIds}::uuid[])
      union all
      select l.batch_key from command_batches l join agent_commands c
        on l.command_id in (c.id, c.target_id)
      where c.id = any (${commandIds}::uuid[])) x
    join batches b on b.key = x.batch_key order by b.key`
  return rows.map(({ key, id }) => ({ channel: `batch:${id}`, type: 'commands', batchKey: key, keys: [] }))
}

/** The change of an agent, for followers of it and of the list. */
export const hostChanges = (agent: { id: string; key: number }): Change[] => [
  { channel: `host:${agent.id}`, type: 'host', keys: [agent.key] },
  { channel: 'hosts', type: 'host', keys: [agent.key] },
]
