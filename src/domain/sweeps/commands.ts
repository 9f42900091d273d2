import { createHash } from 'node:crypto'
import { instantOf } from '../../db/instant.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { commandChanges, commandHash, hostChanges, onlineSince, queueReruns } from '../agents/index.ts'
import { REDACTED } from '../audit.ts'
import type { Caller, Known } from '../caller.ts'
import { isUuid } from '../uuid.ts'
import { type Sweep, visibleSweep } from './reads.ts'
import type { WorkerView } from './sweep-fields.ts'
import { auditSweep, type Done, sweepChanges } from './trace.ts'

/** The newest commands of a sweep that are kept. */
const MAX_KEPT = 100
/** The most workers of one request. */
export const MAX_STARTED = 64

export type WorkerCommand = Pick<WorkerView, 'host' | 'command' | 'cwd' | 'redacted'>

/**
 * Records by which command a worker was started, as a run records its own: an agent on that host, which has its own
 * record of it, may start more workers.
 * @throws Problem sweep_not_found, forbidden
 */
export async function recordCommand(
  tx: Tx,
  actor: Known,
  id: string,
  { host, command, cwd, redacted }: WorkerCommand,
  now: Date,
): Promise<Done<void>> {
  const { batch } = await visibleSweep(tx, actor, id)
  // A worker that an agent started was recorded before.
  if (actor.via === 'rerun' || !batch.may('send_events')) throw new Problem('forbidden')
  const hash = createHash('sha256')
    .update(JSON.stringify([command, cwd]))
    .digest('hex')
  await tx`/* sweeps.record_command */
    insert into sweep_commands (sweep_id, user_id, host, command, cwd, redacted, hash, recorded_at)
    values (${id}, ${actor.user.id}, ${host}, ${command}, ${cwd}, ${redacted}, ${hash}, ${instantOf(now)})
    on conflict (sweep_id, user_id, host, hash) do update set recorded_at = excluded.recorded_at`
  await tx`/* sweeps.forget_commands */
    delete from sweep_commands where sweep_id = ${id} and id not in (
      select c.id from sweep_commands c where c.sweep_id = ${id} order by c.recorded_at desc, c.id limit ${MAX_KEPT})`
  return { result: undefined, changes: sweepChanges(batch) }
}

interface CommandRow extends Omit<WorkerView, 'online'> {
  agent_id: string | null
  agent_key: number | null
}

/** The commands that the owner's own workers recorded, with the agents of the owner that are online on their hosts. */
const commandRows = (db: Db | Tx, { id, batch }: Sweep, now: Date): Promise<CommandRow[]> =>
  db<CommandRow[]>`/* sweeps.commands */
    select c.id, c.host, c.command, c.cwd, c.redacted, c.recorded_at, a.id agent_id, a.key agent_key
    from sweep_commands c
    left join agents a on a.user_id = c.user_id and a.hostname = c.host and a.revoked_at is null
      and a.token_hash is not null and a.last_seen_at > ${onlineSince(now)}::timestamptz
      and exists (select from users u where u.id = a.user_id and u.disabled_at is null)
    where c.sweep_id = ${id} and c.user_id = ${batch.ownerId}
    order by c.recorded_at desc, c.id`

/** The recorded commands of workers; as of a batch, only its owner reads the command lines. */
export async function commandsOfSweep(
  db: Db,
  caller: Caller,
  sweep: Sweep,
  now: Date,
): Promise<WorkerView[]> {
  if (!sweep.batch.may('know_commands')) return []
  const owns = caller.kind === 'known' && caller.user.id === sweep.batch.ownerId
  return (await commandRows(db, sweep, now)).map(({ agent_id: agent, agent_key: _, ...row }) => ({
    ...row,
    command: owns ? row.command : REDACTED,
    online: agent !== null,
  }))
}

export interface Start {
  commandId: string
  workers: number
  /** SHA-256 of the command that the actor was shown, in hexadecimal. */
  confirm: string | undefined
}

/**
 * Has an agent start workers by a command that a worker on its host recorded: nothing new is executed. Rights and agents
 * are those of a rerun.
 * @throws Problem sweep_not_found, forbidden; sweep_finished; command_unknown; command_changed; agent_offline
 */
export async function startWorkers(
  tx: Tx,
  actor: Known,
  id: string,
  { commandId, workers, confirm }: Start,
  now: Date,
): Promise<Done<{ cmdIds: string[]; hostId: string }>> {
  const sweep = await visibleSweep(tx, actor, id)
  const { batch } = sweep
  if (!batch.may('rerun')) throw new Problem('forbidden')
  if (sweep.state === 'stopped' || sweep.state === 'finished') throw new Problem('sweep_finished')
  const found = isUuid(commandId)
    ? (await commandRows(tx, sweep, now)).find((row) => row.id === commandId)
    : undefined
  if (found === undefined) {
    throw new Problem('command_unknown', {
      detail: 'No worker of the owner recorded this command: start one with svc-reporter sweep run',
    })
  }
  if (found.redacted) {
    throw new Problem('command_unknown', {
      detail:
        'Secrets were removed from the recorded command: give them to the worker as environment variables',
    })
  }
  const { host, command, cwd, agent_id: agentId, agent_key: agentKey } = found
  if (confirm !== undefined && confirm.toLowerCase() !== commandHash(command)) {
    throw new Problem('command_changed', { detail: 'This is not the recorded command: reload the page' })
  }
  if (agentId === null || agentKey === null) {
    throw new Problem('agent_offline', {
      detail: `No agent of the sweep's owner is online on ${host}: start svc-agent there`,
    })
  }
  const wanted = { batchKey: batch.key, agentId, command, cwd, env: {}, overridden: [], jobs: null }
  const cmdIds = await queueReruns(tx, actor, { ...wanted, authorizedBy: 'record' }, workers, now)
  const detail = { host, workers }
  await auditSweep(tx, actor, { action: 'sweep.workers_started', batch, sweep: id, detail }, now)
  return {
    result: { cmdIds, hostId: agentId },
    changes: [...(await commandChanges(tx, cmdIds)), ...hostChanges({ id: agentId, key: agentKey })],
  }
}
