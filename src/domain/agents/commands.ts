import { canonicalInstant } from '../../db/instant.ts'
import type { PrismaClient } from '../../db/prisma.ts'
import type { Db } from '../../db/sql.ts'
import { fragment, sqlWords } from '../../db/sql-fragment.ts'
import { REDACTED } from '../audit.ts'
import { columnsOf } from '../field.ts'
import { type Besides, besideColumns, recordRows } from '../record-rows.ts'
import type { Telemetry } from '../telemetry.ts'
import { EXPIRES_MS, pendingSince } from './agent.ts'
import { type CommandView, commandFields } from './command-fields.ts'
import { earlierStarts } from './earlier-starts.ts'
import type { StepView } from './step-fields.ts'

/** The user that reads commands. Only the owner of a batch sees the command lines. */
export interface CommandReader {
  userId: string | null
}

/** What a row of a command has besides the columns of its fields, over `c`, its batch `b` and its agent `a`. */
const besideCommand = {
  cmd_id: { sql: 'c.id', from: 'id' },
  batch_id: { sql: 'b.id', from: 'batch.id' },
  owner_id: { sql: 'b.owner_id', from: 'batch.ownerId' },
  host_id: { sql: 'a.id', from: 'agent.id' },
  hostname: { sql: 'a.hostname', from: 'agent.hostname' },
  claimed_at: { sql: 'c.claimed_at', from: 'claimedAt', instant: true },
  linked_batch_ids: {
    sql: `array(select lb.id from command_batches l join batches lb on lb.key = l.batch_key
      where l.command_id = c.id and lb.deleted_at is null order by lb.key)`,
    from: 'batches',
    of: (links: Link[]) => links.flatMap(({ batch }) => (batch.deletedAt === null ? batch.id : [])),
  },
  requested_by: {
    sql: `(select jsonb_build_object('id', u.id, 'name', u.name) from users u where u.id = c.requested_by)`,
    from: 'user',
    of: (user: CommandView['requested_by']) => user,
  },
} as const satisfies Besides
interface Link {
  batchKey: bigint
  batch: { id: string; deletedAt: string | null }
}
type CommandRow = CommandView & { owner_id: string; claimed_at: string | null }
const record = recordRows<CommandRow>(commandFields, besideCommand)
const COLUMNS = sqlWords(`${columnsOf(commandFields, 'c')}, ${besideColumns(besideCommand)}`)

/** The command as this reader sees it now. */
function commandView(row: CommandRow, reader: CommandReader, now: Date): CommandView {
  const { owner_id: ownerId, claimed_at: claimedAt, ...command } = row
  const since = canonicalInstant(claimedAt ?? row.created_at)
  const expired = row.state === 'pending' && since <= canonicalInstant(pendingSince(now))
  return {
    ...command,
    command: row.command === null || ownerId === reader.userId ? row.command : REDACTED,
    state: expired ? 'expired' : row.state,
  }
}

/**
 * The commands about these batches, and the reruns whose processes report them; newest first, by batch key. The
 * permission (access.ts `know_commands`) was checked before.
 */
export async function commandsOf(
  prisma: PrismaClient,
  batchKeys: readonly number[],
  reader: CommandReader,
  now: Date,
): Promise<Map<number, CommandView[]>> {
  const found = new Map<number, CommandView[]>(batchKeys.map((key) => [key, []]))
  if (batchKeys.length === 0) return found
  const keys = { in: [...batchKeys] }
  const records = await prisma.agentCommand.findMany({
    where: { OR: [{ batchKey: keys }, { batches: { some: { batchKey: keys } } }] },
    relationLoadStrategy: 'join',
    select: {
      ...record.select,
      batchKey: true,
      user: { select: { id: true, name: true } },
      batches: {
        select: { batchKey: true, batch: { select: { id: true, deletedAt: true } } },
        orderBy: { batchKey: 'asc' },
      },
    },
    orderBy: { number: 'desc' },
  })
  for (const one of records) {
    const command = commandView(record.rowOf(one), reader, now)
    const about = new Set([one.batchKey, ...one.batches.map(({ batchKey }) => batchKey)])
    for (const key of about) found.get(Number(key))?.push(command)
  }
  return found
}

/** The same of one batch, for the stream. */
export async function commandsForStream(
  db: Db,
  batchKey: number,
  reader: CommandReader,
  now: Date,
): Promise<CommandView[]> {
  const rows = await db<CommandRow[]>`/* commands.of_batch */
    select ${fragment(db, COLUMNS)}
    from (
      select c.id from agent_commands c where c.batch_key = ${batchKey}
      union
      select l.command_id from command_batches l where l.batch_key = ${batchKey}) x
    join agent_commands c on c.id = x.id
    join batches b on b.key = c.batch_key
    join agents a on a.id = c.agent_id
    order by c.number desc`
  return rows.map((row) => commandView(row, reader, now))
}

/**
 * The timeline of a batch, oldest first: its starts and ends, every step of its stops and reruns and of the process that
 * reports it, changes by users (from the audit log), its mails, and the registration or revocation of its agent. So a
 * clean stop, a killed process and a lost host can be told apart. The permission (access.ts `know_commands`) was
 * checked before.
 */
export async function timelineOf(
  db: Telemetry,
  batchKey: number,
  reader: CommandReader,
  now: Date,
): Promise<StepView[]> {
  return (await timelinesOf(db, [batchKey], reader, now)).get(batchKey) ?? []
}

/** The same of several batches, in as many statements. */
export async function timelinesOf(
  db: Telemetry,
  batchKeys: readonly number[],
  reader: CommandReader,
  now: Date,
): Promise<Map<number, StepView[]>> {
  const rows = await db<(StepView & { batch_key: number })[]>`/* control.timeline */
    select u.batch_key, t.at, t.step, t.kind, t.cmd_id, t.detail, t.actor
    from unnest(${[...batchKeys]}::bigint[]) as u (batch_key) cross join lateral (
    with batch as (
      select b.*, exists (select from command_batches l where l.batch_key = b.key) rerun
      from batches b where b.key = u.batch_key),
    mine as (
      select 1 place, s.at, s.id, s.step, coalesce(c.kind, 'stop') kind, s.command_id cmd_id, s.actor_kind, s.actor_id, s.detail
      from control_steps s left join agent_commands c on c.id = s.command_id
      where s.batch_key = u.batch_key
        or s.command_id in (select l.command_id from command_batches l where l.batch_key = u.batch_key)
      union all
      select 1, c.created_at + ${EXPIRES_MS} * interval '1 millisecond', null, 'expired', c.kind, c.id, 'service', null, '{}'
      from agent_commands c
      where c.batch_key = u.batch_key and c.state = 'pending'
        and coalesce(c.claimed_at, c.created_at) <= ${pendingSince(now)}::timestamptz
      union all
      select 0, b.started_at, null, 'began', 'batch', null, 'reporter', b.owner_id,
        jsonb_strip_nulls(jsonb_build_object('host', b.host, 'rerun_of', b.rerun_of, 'n_total', b.n_total,
          'pid', b.process -> 'pid'))
      from batch b
      union all
      select 2, b.ended_at, null, 'ended',
        case when b.stop_requested_at is not null then 'stop' when b.rerun then 'rerun' else 'batch' end,
        null, 'reporter', b.owner_id,
        jsonb_strip_nulls(jsonb_build_object('status', b.status, 'failure_reason', b.failure_reason))
      from batch b where b.ended_at is not null
      union all
      select 1, l.at, null, case l.action when 'batch.edited' then 'edited' when 'batch.deleted' then 'deleted'
          when 'batch.restored' then 'restored' when 'share.created' then 'shared'
          when 'share.revoked' then 'share_revoked' else replace(l.action, '.', '_') end,
        split_part(l.action, '.', 1), null, 'user', l.actor_id, l.detail - 'project' - 'share' - 'sweep'
      from batch b join audit_log l on l.subject = 'batch:' || b.id
      where l.action in ('batch.edited', 'batch.deleted', 'batch.restored', 'share.created', 'share.revoked',
        'sweep.created', 'sweep.paused', 'sweep.resumed', 'sweep.extended', 'sweep.edited',
        'sweep.queued', 'sweep.stopped', 'sweep.workers_started')
      union all
      select 1, k.at, null, 'start_conflict', 'batch', null, 'reporter', k.user_id,
        jsonb_build_object('fields', k.fields) || case when b.owner_id = ${reader.userId}::uuid
          then jsonb_build_object('said', k.said, 'token', jsonb_build_object('name', k.token_name, 'last4', k.last4))
          else jsonb_build_object('said', jsonb_build_object('command', ${REDACTED}::text)) end
      from batch b join start_conflicts k on k.batch_key = b.key
      union all
      select 1, max(m.at), null, 'mail_' || m.state, 'mail', null, 'service', null,
        jsonb_build_object('rule', r.name, 'trigger', f.trigger, 'recipients', count(*))
      from batch b
      join notification_rules r on r.project_key = b.project_key and r.person_id is null
      join notification_firings f on f.rule_id = r.id and f.batch_key = b.key
      join notification_mails m on m.firing_id = f.id and m.kind = 'mail'
        and m.state in ('sent', 'unknown', 'refused', 'logged')
      group by f.id, m.state, r.name, f.trigger
      union all
      select 1, l.at, null, replace(l.action, '.', '_'), 'agent', null, 'user', l.actor_id,
        jsonb_build_object('hostname', a.hostname)
          || case when (l.detail ->> 'rotated')::boolean then '{"rotated": true}'::jsonb else '{}' end
      from batch b
      join agents a on a.user_id = b.owner_id and a.hostname = b.host
      join audit_log l on l.subject = 'agent:' || a.id and l.action in ('agent.registered', 'agent.revoked')
      where l.at between b.started_at and coalesce(b.ended_at, ${now.toISOString()}::timestamptz))
    select m.place, m.id, m.at, m.step, m.kind, m.cmd_id, m.detail,
      jsonb_build_object('kind', m.actor_kind, 'id', m.actor_id, 'name', coalesce(w.name, a.hostname)) actor
    from mine m
    left join users w on w.id = m.actor_id
    left join agents a on a.id = m.actor_id
    ) t
    order by u.batch_key, t.at, t.place, t.id nulls last`
  const earlier = await earlierStarts(db, batchKeys)
  const found = new Map<number, StepView[]>(batchKeys.map((key) => [key, []]))
  for (const { batch_key, ...step } of rows) found.get(batch_key)?.push(step)
  return new Map([...found].map(([key, steps]) => [key, withEarlier(steps, earlier.get(key) ?? [])]))
}

function withEarlier(steps: StepView[], earlier: readonly StepView[]): StepView[] {
  if (earlier.length === 0) return steps
  const all = [...earlier, ...steps].sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
  const first = all.find(({ step }) => step === 'began')
  return all.map((step) =>
    step.step === 'began' && step !== first ? { ...step, detail: { ...step.detail, resumed: true } } : step,
  )
}
