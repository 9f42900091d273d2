import type { Tx } from '../../db/sql.ts'
import type { Process } from '../batches/index.ts'
import { revokeTokensOf } from '../tokens/index.ts'
import { type AgentCaller, type CommandKind, pendingSince } from './agent.ts'
import { agentActor, commandChanges, type Done, type NewStep, recordSteps, SERVICE } from './steps.ts'

/** A command as sent to its agent. */
export interface WaitingCommand {
  cmd_id: string
  kind: CommandKind
  batch_id: string
  command: string | null
  cwd: string | null
  /** For a stop: the process to end, and the command that started it. */
  pid: number | null
  target_cmd_id: string | null
  /**
   * For a stop: what the batch recorded of the process, which distinguishes it from a later one with the same number.
   */
  process?: Process | null
  env: Record<string, string>
  /** For a rerun: whether the agent must compare the command with its own record, or the owner gave it in a session. */
  authorized_by: 'record' | 'owner_words'
  /** Which of command and cwd the owner gave. */
  overridden: string[]
  created_at: string
}

/** The most commands in one answer; the others wait for the next poll. */
const MAX_DELIVERED = 500

/** The agent's pending commands, oldest first. Those that have waited for a day expire. */
export async function deliver(tx: Tx, agent: AgentCaller, now: Date): Promise<Done<WaitingCommand[]>> {
  const at = now.toISOString()
  const expired = await tx<{ id: string; batch_key: number }[]>`/* commands.expire */
    update agent_commands set state = 'expired', finished_at = ${at}
    where agent_id = ${agent.id} and state = 'pending'
      and coalesce(claimed_at, created_at) <= ${pendingSince(now)}::timestamptz
    returning id, batch_key`
  if (expired.length > 0) {
    await revokeTokensOf(
      tx,
      expired.map(({ id }) => id),
      now,
    )
  }
  const rows = await tx<
    (Required<WaitingCommand> & { batchKey: number; delivered: boolean })[]
  >`/* commands.pending */
    select c.id cmd_id, c.kind, b.id batch_id, b.key "batchKey", c.command, c.cwd, c.pid, c.target_id target_cmd_id,
      b.process, c.env, c.authorized_by, c.overridden, c.created_at, c.delivered_at is not null delivered
    from agent_commands c join batches b on b.key = c.batch_key
    where c.agent_id = ${agent.id} and c.state = 'pending' and (c.kind = 'stop' or b.deleted_at is null)
    order by c.number limit ${MAX_DELIVERED}`
  const fresh = rows.filter((row) => !row.delivered)
  if (fresh.length > 0) {
    await tx`/* commands.delivered */
      update agent_commands set delivered_at = ${at} where id = any (${fresh.map((row) => row.cmd_id)}::uuid[])`
  }
  const steps: NewStep[] = [
    ...expired.map(
      ({ id, batch_key }): NewStep => ({
        batchKey: batch_key,
        commandId: id,
        step: 'expired',
        at: now,
        actor: SERVICE,
      }),
    ),
    ...fresh.map(
      ({ cmd_id: cmdId, batchKey }): NewStep => ({
        batchKey,
        commandId: cmdId,
        step: 'delivered',
        at: now,
        actor: agentActor(agent),
      }),
    ),
  ]
  await recordSteps(tx, steps)
  const changed = steps.flatMap((step) => step.commandId ?? [])
  return {
    result: rows.map(({ batchKey: _key, delivered: _delivered, process, ...command }) =>
      command.kind === 'stop' ? { ...command, process } : command,
    ),
    changes: await commandChanges(tx, changed),
  }
}
