import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import type { Change } from '../../stream/change.ts'
import { visibleBatch } from '../access.ts'
import { recordAudit } from '../audit.ts'
import type { Known } from '../caller.ts'
import { isUuid } from '../uuid.ts'
import { onlineSince, pendingSince } from './agent.ts'
import { commandChanges, type Done, hostChanges, type NewStep, recordSteps, userActor } from './steps.ts'

/**
 * Queues a stop for an agent, in the transaction of the stop flag (contract §4, §10 "Stop"): an online agent of the
 * batch's owner gets a command to end the process that reports the batch, or each worker of a sweep, if it started that
 * process, or if it is on the batch's host and the batch recorded an unambiguous process. While a stop is pending, another request queues
 * nothing.
 */
export async function queueStop(tx: Tx, actor: Known, batchId: string, now: Date): Promise<Change[]> {
  const batch = await visibleBatch(tx, actor, batchId)
  const flag: NewStep = {
    batchKey: batch.key,
    commandId: null,
    step: 'requested',
    at: now,
    actor: userActor(actor.user),
    detail: { kind: 'stop' },
  }
  const fresh = await recordSteps(tx, [flag])
  const at = now.toISOString()
  const made = await tx<{ id: string; agent_id: string; agent_key: number }[]>`/* commands.queue_stop */
    with target as (
      select c.id, c.pid, a.id agent_id, a.key agent_key
      from batches b
      left join command_batches l on l.batch_key = b.key
      join agent_commands c on (c.id = l.command_id or b.sweep_id is not null and c.batch_key = b.key)
        and c.kind = 'rerun' and c.state = 'in_flight'
      join agents a on a.id = c.agent_id and a.user_id = b.owner_id and a.revoked_at is null
        and a.last_seen_at > ${onlineSince(now)}::timestamptz
      where b.key = ${batch.key}
        and not exists (
          select from agent_commands s where s.target_id = c.id and s.kind = 'stop'
            and (s.state = 'in_flight' or s.state = 'pending' and s.created_at > ${pendingSince(now)}::timestamptz))
      for update of c),
    by_hand as (
      select a.id agent_id, (b.process ->> 'pid')::bigint pid
      from batches b
      join agents a on a.user_id = b.owner_id and a.hostname = b.host and a.revoked_at is null
        and a.last_seen_at > ${onlineSince(now)}::timestamptz
      where b.key = ${batch.key} and b.status = 'running' and b.process is not null
        and not exists (select from command_batches l where l.batch_key = b.key)
        and not exists (
          select from agent_commands s where s.batch_key = b.key and s.kind = 'stop' and s.target_id is null
            and (s.state = 'in_flight' or s.state = 'pending' and s.created_at > ${pendingSince(now)}::timestamptz))),
    made as (
      insert into agent_commands (agent_id, kind, batch_key, target_id, pid, requested_by, created_at)
      select agent_id, 'stop', ${batch.key}::bigint, id, pid, ${actor.user.id}::uuid, ${at}::timestamptz from target
      union all
      select agent_id, 'stop', ${batch.key}::bigint, null::uuid, pid, ${actor.user.id}::uuid, ${at}::timestamptz from by_hand
      returning id, agent_id)
    select made.id, made.agent_id, a.key agent_key from made join agents a on a.id = made.agent_id`
  if (made.length === 0) {
    return fresh === 0
      ? []
      : [{ channel: `batch:${batch.id}`, type: 'commands', batchKey: batch.key, keys: [] }]
  }
  const ids = made.map(({ id }) => id)
  await recordSteps(
    tx,
    ids.map((commandId) => ({ ...flag, commandId, detail: {} })),
  )
  return [
    ...(await commandChanges(tx, ids)),
    ...made.flatMap(({ agent_id, agent_key }) => hostChanges({ id: agent_id, key: agent_key })),
  ]
}

/** Who requested the stop of the batch, and when; nothing if no stop was requested. */
export async function stopRequestOf(
  db: Db,
  batch: { key: number; stopRequested: boolean },
): Promise<{ requested_by?: string; requested_at?: string }> {
  if (!batch.stopRequested) return {}
  const [row] = await db<{ name: string | null; at: string }[]>`/* control.stop_request */
    select u.name, b.stop_requested_at at from batches b left join users u on u.id = b.stop_requested_by
    where b.key = ${batch.key}`
  if (row === undefined) return {}
  return { ...(row.name !== null && { requested_by: row.name }), requested_at: row.at }
}

/**
 * Records the first time that a reporter read the stop flag. If it is recorded already, this costs one look-up.
 * @returns undefined if there is nothing to write
 */
export async function flagSeenBefore(db: Db, batchKey: number): Promise<boolean> {
  const [row] = await db`/* control.seen */
    select from control_steps where batch_key = ${batchKey} and command_id is null and step = 'seen_by_reporter'`
  return row !== undefined
}

export async function noteFlagSeen(
  tx: Tx,
  batch: { key: number; id: string },
  reporter: Known,
  now: Date,
): Promise<Done<void>> {
  const fresh = await recordSteps(tx, [
    {
      batchKey: batch.key,
      commandId: null,
      step: 'seen_by_reporter',
      at: now,
      actor: { kind: 'reporter', id: reporter.user.id },
    },
  ])
  const changes: Change[] =
    fresh === 0 ? [] : [{ channel: `batch:${batch.id}`, type: 'commands', batchKey: batch.key, keys: [] }]
  return { result: undefined, changes }
}

/**
 * Cancels a command that no agent has claimed.
 * @throws Problem batch_not_found, command_not_found, forbidden; command_not_pending
 */
export async function cancelCommand(
  tx: Tx,
  actor: Known,
  batchId: string,
  cmdId: string,
  now: Date,
): Promise<Done<void>> {
  const batch = await visibleBatch(tx, actor, batchId)
  if (!batch.may('rerun')) throw new Problem('forbidden')
  const [command] = isUuid(cmdId)
    ? await tx<{ pending: boolean }[]>`/* commands.lock_to_cancel */
        select state = 'pending' and claimed_at is null and created_at > ${pendingSince(now)}::timestamptz pending
        from agent_commands where id = ${cmdId} and batch_key = ${batch.key} for update`
    : []
  if (command === undefined) throw new Problem('command_not_found')
  if (!command.pending) throw new Problem('command_not_pending')
  await tx`/* commands.cancel */
    update agent_commands set state = 'cancelled', finished_at = ${now.toISOString()} where id = ${cmdId}`
  await recordSteps(tx, [
    { batchKey: batch.key, commandId: cmdId, step: 'cancelled', at: now, actor: userActor(actor.user) },
  ])
  const detail = { project: batch.projectSlug, cmd_id: cmdId }
  await recordAudit(
    tx,
    actor,
    { action: 'batch.command_cancelled', subject: `batch:${batch.id}`, detail },
    now,
  )
  return { result: undefined, changes: await commandChanges(tx, [cmdId]) }
}
