import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { makeToken, revokeTokensOf, tokenHash } from '../tokens/index.ts'
import { isUuid } from '../uuid.ts'
import {
  type AgentCaller,
  type CommandKind,
  type CommandState,
  pendingSince,
  type REPORTED_STEPS,
  secondsAgo,
} from './agent.ts'
import {
  agentActor,
  commandChanges,
  type Done,
  hostChanges,
  type NewStep,
  recordSteps,
  SERVICE,
} from './steps.ts'

/**
 * How an agent handles its commands (contract §5): it claims one, reports that the process started or why not, and
 * reports how it ended. An answer may get lost, so each request may be repeated.
 */

interface CommandRow {
  id: string
  kind: CommandKind
  batch_key: number
  state: CommandState
  pid: number | null
  exit_code: number | null
  failure_reason: string | null
  expired: boolean
}

/** @throws Problem command_not_found, also for another agent's */
async function lockCommand(tx: Tx, agent: AgentCaller, cmdId: string, now: Date): Promise<CommandRow> {
  const [command] = isUuid(cmdId)
    ? await tx<CommandRow[]>`/* commands.lock */
        select id, kind, batch_key, state, pid, exit_code, failure_reason,
          state = 'pending' and coalesce(claimed_at, created_at) <= ${pendingSince(now)}::timestamptz expired
        from agent_commands where id = ${cmdId} and agent_id = ${agent.id} for update`
    : []
  if (command === undefined) throw new Problem('command_not_found')
  return command
}

const isWaiting = (command: CommandRow): boolean => command.state === 'pending' && !command.expired

/**
 * Claims a rerun right before its process is started: it can no longer be cancelled. The agent gets a token for the
 * process to report with. It is limited to one batch, of a worker of a sweep to that sweep, and ends with the command. A repeated claim (the answer got lost)
 * returns another token and revokes the first.
 * @throws Problem command_not_found, command_not_pending
 */
export async function claimCommand(
  tx: Tx,
  agent: AgentCaller,
  cmdId: string,
  now: Date,
): Promise<Done<{ token: string }>> {
  const command = await lockCommand(tx, agent, cmdId, now)
  if (command.kind !== 'rerun' || !isWaiting(command)) throw new Problem('command_not_pending')
  const at = now.toISOString()
  const token = makeToken('reporter')
  await revokeTokensOf(tx, [cmdId], now)
  await tx`/* commands.make_token */
    insert into tokens (user_id, name, scope, hash, last4, created_at, command_id, batch_id)
    select ${agent.userId}, 'rerun', 'reporter', ${tokenHash(token)}, ${token.slice(-4)}, ${at}, ${cmdId},
      case when b.sweep_id is not null then b.id end
    from batches b where b.key = ${command.batch_key}`
  await tx`/* commands.claim */
    update agent_commands set claimed_at = coalesce(claimed_at, ${at}::timestamptz) where id = ${cmdId}`
  await recordSteps(tx, [
    {
      batchKey: command.batch_key,
      commandId: cmdId,
      step: 'acknowledged',
      at: now,
      actor: agentActor(agent),
    },
  ])
  return { result: { token }, changes: await commandChanges(tx, [cmdId]) }
}

/** What an agent reports of a claimed command: its process, or why there is none. */
export type Acknowledgement = { pid: number; agoS?: number | undefined } | { failureReason: string }

/**
 * @returns the command's state
 * @throws Problem command_not_found; command_not_pending if it was cancelled, has ended, or was acknowledged with other
 *   data before
 */
export async function acknowledge(
  tx: Tx,
  agent: AgentCaller,
  cmdId: string,
  said: Acknowledgement,
  now: Date,
): Promise<Done<CommandState>> {
  const command = await lockCommand(tx, agent, cmdId, now)
  if (!isWaiting(command)) {
    const repeated =
      'pid' in said
        ? command.pid === said.pid && ['in_flight', 'done', 'failed'].includes(command.state)
        : command.state === 'failed' && command.failure_reason === said.failureReason
    if (!repeated) throw new Problem('command_not_pending')
    return { result: command.state, changes: [] }
  }
  const common = { batchKey: command.batch_key, commandId: cmdId, actor: agentActor(agent) }
  const failed = 'failureReason' in said
  if (failed) {
    await tx`/* commands.refuse */
      update agent_commands set state = 'failed', failure_reason = ${said.failureReason}, acked_at = ${now.toISOString()},
        finished_at = ${now.toISOString()}
      where id = ${cmdId}`
    await revokeTokensOf(tx, [cmdId], now)
    await recordSteps(tx, [
      { ...common, step: 'acknowledged', at: now },
      { ...common, step: 'failed', at: now, detail: { failure_reason: said.failureReason } },
    ])
  } else {
    if (command.kind === 'stop' && command.pid !== said.pid) throw new Problem('command_not_pending')
    await tx`/* commands.acknowledge */
      update agent_commands set state = 'in_flight', pid = ${said.pid}, acked_at = ${now.toISOString()} where id = ${cmdId}`
    const at = secondsAgo(now, said.agoS)
    const started: NewStep[] =
      command.kind === 'rerun' ? [{ ...common, step: 'started', at, detail: { pid: said.pid } }] : []
    await recordSteps(tx, [{ ...common, step: 'acknowledged', at }, ...started])
  }
  return { result: failed ? 'failed' : 'in_flight', changes: await changesFor(tx, agent, [cmdId]) }
}

export interface Ending {
  /** Null if it is unknown. */
  exitCode: number | null
  failureReason?: string | undefined
  outputTail?: string | undefined
  agoS?: number | undefined
}

/**
 * Records how a command ended. A rerun has succeeded with exit code 0; a stop has succeeded with any exit code of the
 * stopped process, unless a reason says that it failed.
 * @throws Problem command_not_found; command_not_in_flight before it was acknowledged, or if it ended otherwise before
 */
export async function finish(
  tx: Tx,
  agent: AgentCaller,
  cmdId: string,
  said: Ending,
  now: Date,
): Promise<Done<CommandState>> {
  const command = await lockCommand(tx, agent, cmdId, now)
  const { exitCode, failureReason = null, outputTail = null } = said
  const over = command.state === 'done' || command.state === 'failed'
  if (
    over &&
    command.pid !== null &&
    command.exit_code === exitCode &&
    command.failure_reason === failureReason
  ) {
    return { result: command.state, changes: [] }
  }
  if (command.state !== 'in_flight') throw new Problem('command_not_in_flight')
  const good = failureReason === null && (command.kind === 'stop' || exitCode === 0)
  const state: CommandState = good ? 'done' : 'failed'
  const at = secondsAgo(now, said.agoS)
  await tx`/* commands.finish */
    update agent_commands set state = ${state}, exit_code = ${exitCode}, failure_reason = ${failureReason},
      output_tail = ${outputTail}, finished_at = ${now.toISOString()}
    where id = ${cmdId}`
  await revokeTokensOf(tx, [cmdId], now)
  const actor = agentActor(agent)
  const steps: NewStep[] = [
    {
      batchKey: command.batch_key,
      commandId: cmdId,
      step: exitCode === null ? 'failed' : 'exited',
      at,
      actor,
      detail: {
        ...(exitCode === null ? {} : { exit_code: exitCode }),
        ...(failureReason === null ? {} : { failure_reason: failureReason }),
      },
    },
  ]
  // A stop that the agent has not begun is obsolete.
  const moot = await tx<{ id: string; batch_key: number }[]>`/* commands.moot_stops */
    update agent_commands set state = 'cancelled', finished_at = ${now.toISOString()}
    where target_id = ${cmdId} and state = 'pending' returning id, batch_key`
  for (const { id, batch_key } of moot) {
    steps.push({
      batchKey: batch_key,
      commandId: id,
      step: 'cancelled',
      at,
      actor: SERVICE,
      detail: { reason: 'the process has ended' },
    })
  }
  await recordSteps(tx, steps)
  return { result: state, changes: await changesFor(tx, agent, [cmdId, ...moot.map((stop) => stop.id)]) }
}

export interface ReportedStep {
  step: (typeof REPORTED_STEPS)[number]
  agoS?: number | undefined
}

/** Records steps of a command as they happen. Steps that are recorded already do not change. */
export async function noteSteps(
  tx: Tx,
  agent: AgentCaller,
  cmdId: string,
  said: readonly ReportedStep[],
  now: Date,
): Promise<Done<void>> {
  const command = await lockCommand(tx, agent, cmdId, now)
  const fresh = await recordSteps(
    tx,
    said.map(({ step, agoS }) => ({
      batchKey: command.batch_key,
      commandId: cmdId,
      step,
      at: secondsAgo(now, agoS),
      actor: agentActor(agent),
    })),
  )
  return { result: undefined, changes: fresh === 0 ? [] : await commandChanges(tx, [cmdId]) }
}

const changesFor = async (tx: Tx, agent: AgentCaller, commandIds: string[]): Promise<Change[]> => [
  ...(await commandChanges(tx, commandIds)),
  ...hostChanges(agent),
]
