import type { Db } from '../../db/sql.ts'
import { type CommandKind, type CommandState, EXPIRES_MS, pendingSince, type Step } from './agent.ts'

/** A command on the wire (specification §2.3 "Agent command"). */
export interface CommandView {
  cmd_id: string
  kind: CommandKind
  state: CommandState
  /** The batch that it is about. */
  batch_id: string
  /** The batches that the process of a rerun reports. */
  linked_batch_ids: string[]
  host_id: string
  hostname: string
  command: string | null
  cwd: string | null
  overridden: string[]
  jobs: 'all' | 'failed' | null
  pid: number | null
  exit_code: number | null
  failure_reason: string | null
  output_tail: string | null
  requested_by: { id: string; name: string } | null
  created_at: string
  acked_at: string | null
  finished_at: string | null
}

/** A step on the wire. */
export interface StepView {
  at: string
  step: Step | 'ended'
  kind: CommandKind
  /** Null for what concerns the batch alone: its stop flag, its end. */
  cmd_id: string | null
  actor: { kind: 'user' | 'agent' | 'reporter' | 'service'; id: string | null; name: string | null }
  detail: Record<string, unknown>
}

/**
 * By batch key, the commands about the batch, and the rerun whose process reports it; newest first. What the caller
 * may know (access.ts `know_commands`) was settled before.
 */
export async function commandsOf(
  db: Db,
  batchKeys: readonly number[],
  now: Date,
): Promise<Map<number, CommandView[]>> {
  const found = new Map<number, CommandView[]>(batchKeys.map((key) => [key, []]))
  if (batchKeys.length === 0) return found
  const rows = await db<(CommandView & { of_batch: number })[]>`/* commands.of_batches */
    select x.of_batch, c.id cmd_id, c.kind, b.id batch_id, a.id host_id, a.hostname, c.command, c.cwd, c.overridden, c.jobs,
      case when c.state = 'pending' and coalesce(c.claimed_at, c.created_at) <= ${pendingSince(now)}::timestamptz
        then 'expired' else c.state end state,
      array(select lb.id from command_batches l join batches lb on lb.key = l.batch_key
        where l.command_id = c.id and lb.deleted_at is null order by lb.key) linked_batch_ids,
      c.pid, c.exit_code, c.failure_reason, c.output_tail,
      case when u.id is null then null else jsonb_build_object('id', u.id, 'name', u.name) end requested_by,
      c.created_at, c.acked_at, c.finished_at
    from (
      select c.batch_key of_batch, c.id from agent_commands c where c.batch_key = any (${batchKeys as number[]}::bigint[])
      union
      select l.batch_key, l.command_id from command_batches l where l.batch_key = any (${batchKeys as number[]}::bigint[])) x
    join agent_commands c on c.id = x.id
    join batches b on b.key = c.batch_key
    join agents a on a.id = c.agent_id
    left join users u on u.id = c.requested_by
    order by c.number desc`
  for (const { of_batch, ...command } of rows) found.get(of_batch)?.push(command)
  return found
}

/**
 * What happened around stops and reruns of the batch, and of the process that reports it, oldest first; with the
 * batch's own end, so that a clean stop, a killed process and a lost host read differently (goals.md 10).
 */
export async function timelineOf(db: Db, batchKey: number, now: Date): Promise<StepView[]> {
  const steps = await db<StepView[]>`/* control.timeline */
    with mine as (
      select s.at, s.id, s.step, coalesce(c.kind, 'stop') kind, s.command_id cmd_id, s.actor_kind, s.actor_id, s.detail
      from control_steps s left join agent_commands c on c.id = s.command_id
      where s.batch_key = ${batchKey}
        or s.command_id in (select l.command_id from command_batches l where l.batch_key = ${batchKey})
      union all
      select c.created_at + ${EXPIRES_MS} * interval '1 millisecond', null, 'expired', c.kind, c.id, 'service', null, '{}'
      from agent_commands c
      where c.batch_key = ${batchKey} and c.state = 'pending'
        and coalesce(c.claimed_at, c.created_at) <= ${pendingSince(now)}::timestamptz
      union all
      select b.ended_at, null, 'ended', case when b.stop_requested_at is null then 'rerun' else 'stop' end, null, 'reporter', b.owner_id,
        jsonb_strip_nulls(jsonb_build_object('status', b.status, 'failure_reason', b.failure_reason))
      from batches b
      where b.key = ${batchKey} and b.ended_at is not null
        and (b.stop_requested_at is not null or exists (select from command_batches l where l.batch_key = b.key)))
    select m.at, m.step, m.kind, m.cmd_id, m.detail,
      jsonb_build_object('kind', m.actor_kind, 'id', m.actor_id, 'name', coalesce(u.name, a.hostname)) actor
    from mine m
    left join users u on u.id = m.actor_id
    left join agents a on a.id = m.actor_id
    order by m.at, m.id nulls last`
  return steps
}
