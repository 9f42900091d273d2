import { createHash } from 'node:crypto'
import type { Tx } from '../../db/sql.ts'
import { Problem } from '../../problem.ts'
import { visibleBatch } from '../access.ts'
import { recordAudit } from '../audit.ts'
import { isFromOwner } from '../batches/index.ts'
import type { Known } from '../caller.ts'
import type { Merged } from '../merge.ts'
import { onlineSince } from './agent.ts'
import { commandChanges, type Done, hostChanges, recordSteps, userActor } from './steps.ts'

export interface RerunWish {
  cwd?: string | undefined
  command?: string | undefined
  jobs?: 'all' | 'failed' | undefined
  /** SHA-256 of the command that the actor was shown, in hexadecimal. */
  confirm?: string | undefined
}

/** One variable of a process's environment takes at most 128 KiB. */
const MAX_ENV_BYTES = 100_000

interface RerunTarget {
  host: string | null
  start_fields: Merged | null
  agent_id: string | null
  agent_key: number | null
}

/**
 * Queues a rerun (specification §3.3), within the limits of contract §2: to an agent of the batch's owner on the host
 * that the batch ran on, of the command that the owner's own reporter recorded. Only the owner may give another
 * command or folder; the agent runs a command that the owner gave in a session also where the host has no record of it.
 * @throws Problem batch_not_found, forbidden; agent_offline; command_unknown if no command was recorded;
 *   command_changed if it is not the confirmed one; nothing_to_rerun if all jobs are done; too_many_jobs if their names
 *   do not fit into environment variables
 */
export async function requestRerun(
  tx: Tx,
  actor: Known,
  batchId: string,
  wish: RerunWish,
  now: Date,
): Promise<Done<{ cmdId: string; hostId: string }>> {
  const batch = await visibleBatch(tx, actor, batchId)
  if (!batch.may('rerun')) throw new Problem('forbidden')
  const overridden = (['cwd', 'command'] as const).filter((field) => wish[field] !== undefined)
  if (overridden.length > 0 && !batch.may('override_rerun')) {
    throw new Problem('forbidden', {
      detail: 'Only the owner of the batch may change the command or the folder',
    })
  }
  const { host, start } = await targetOf(tx, batch.key, now)
  const { command, cwd } = commandOf(start, wish)
  if (wish.confirm !== undefined && wish.confirm.toLowerCase() !== commandHash(command)) {
    throw new Problem('command_changed', {
      detail: 'The recorded command has changed since it was shown: check it again before you run it',
    })
  }
  const { env, jobs } = await environmentFor(tx, batch, wish.jobs ?? 'all')
  const authorizedBy: QueuedRerun['authorizedBy'] = wish.command === undefined ? 'record' : 'owner_words'
  const wanted = { batchKey: batch.key, agentId: host.id, command, cwd, env, overridden, jobs, authorizedBy }
  const [made] = await queueReruns(tx, actor, wanted, 1, now)
  if (made === undefined) throw new Error('the command was not stored')
  const detail = { jobs, overridden }
  await recordAudit(
    tx,
    actor,
    {
      action: 'batch.rerun_requested',
      subject: `batch:${batch.id}`,
      detail: { project: batch.projectSlug, cmd_id: made, host_id: host.id, command, cwd, ...detail },
    },
    now,
  )
  return {
    result: { cmdId: made, hostId: host.id },
    changes: [...(await commandChanges(tx, [made])), ...hostChanges(host)],
  }
}

/** A command for an agent to start a process with. */
export interface QueuedRerun {
  batchKey: number
  agentId: string
  command: string
  cwd: string | null
  env: Record<string, string>
  overridden: string[]
  jobs: 'all' | 'failed' | null
  /** `record`: the agent starts it only if this host has a record of it. */
  authorizedBy: 'record' | 'owner_words'
}

/** Stores `n` such commands with their first step. @returns their ids */
export async function queueReruns(
  tx: Tx,
  actor: Known,
  { batchKey, agentId, command, cwd, env, overridden, jobs, authorizedBy }: QueuedRerun,
  n: number,
  now: Date,
): Promise<string[]> {
  const made = await tx<{ id: string }[]>`/* commands.queue_rerun */
    insert into agent_commands (id, agent_id, kind, batch_key, command, cwd, env, overridden, jobs, requested_by, authorized_by, created_at)
    select id, ${agentId}, 'rerun', ${batchKey}, ${command}, ${cwd},
      ${JSON.stringify(env)}::text::jsonb || jsonb_build_object('SVC_CMD_ID', id), ${overridden}::text[], ${jobs},
      ${actor.user.id}, ${authorizedBy}, ${now.toISOString()}
    from (select gen_random_uuid() id from generate_series(1, ${n}::int)) x
    returning id`
  await recordSteps(
    tx,
    made.map(({ id }) => ({
      batchKey,
      commandId: id,
      step: 'requested' as const,
      at: now,
      actor: userActor(actor.user),
      detail: { jobs, overridden },
    })),
  )
  return made.map(({ id }) => id)
}

/**
 * The agent that a rerun goes to, and what the batch recorded at its start.
 * @throws Problem agent_offline
 */
async function targetOf(
  tx: Tx,
  batchKey: number,
  now: Date,
): Promise<{ host: { id: string; key: number }; start: Merged | null }> {
  const [target] = await tx<RerunTarget[]>`/* commands.rerun_target */
    select b.host, b.start_fields, a.id agent_id, a.key agent_key
    from batches b
    left join agents a on a.user_id = b.owner_id and a.hostname = b.host and a.revoked_at is null
      and a.token_hash is not null and a.last_seen_at > ${onlineSince(now)}::timestamptz
      and exists (select from users u where u.id = a.user_id and u.disabled_at is null)
    where b.key = ${batchKey}`
  const start = target?.start_fields ?? null
  if (target?.agent_id == null || target.agent_key === null || !isFromOwner(start, 'host')) {
    throw new Problem('agent_offline', {
      detail:
        target?.host == null
          ? 'The batch has not recorded the host that it ran on, so no agent can rerun it'
          : `No agent of the batch's owner is online on ${target.host}: start svc-agent there`,
    })
  }
  return { host: { id: target.agent_id, key: target.agent_key }, start }
}

/** SHA-256 of a command in UTF-8, in hexadecimal; the reporter's record of a run has the same hash. */
export const commandHash = (command: string): string => createHash('sha256').update(command).digest('hex')

/** The command and working directory: the recorded ones, or those that the owner gave. An unknown directory is null. */
function commandOf(start: Merged | null, wish: RerunWish): { command: string; cwd: string | null } {
  const recorded = (name: string): string | null => {
    const value = start?.values[`env/${name}`]
    return typeof value === 'string' && value.trim() !== '' && isFromOwner(start, `env/${name}`)
      ? value
      : null
  }
  const command = wish.command ?? recorded('command')
  if (command === null) {
    throw new Problem('command_unknown', {
      detail: 'The batch has not recorded its command; its owner can rerun it by sending the command',
    })
  }
  if (wish.command === undefined && start?.values['env/command_redacted'] === true) {
    throw new Problem('command_unknown', {
      detail:
        'Secrets were removed from the recorded command: its owner can run it by sending the full command',
    })
  }
  const knownElsewhere = start?.values['env/cwd'] !== undefined
  const cwd = wish.cwd ?? recorded('cwd')
  if (cwd === null && knownElsewhere) {
    throw new Problem('command_unknown', {
      detail:
        'The batch has not recorded its working directory; its owner can rerun it by sending the directory',
    })
  }
  return { command, cwd }
}

/** The environment variables of the process (contract §4): which batch it repeats, and which of its jobs to run. */
async function environmentFor(
  tx: Tx,
  batch: { id: string; key: number },
  jobs: 'all' | 'failed',
): Promise<{ env: Record<string, string>; jobs: 'all' | 'failed' }> {
  const env: Record<string, string> = { SVC_RERUN_OF: batch.id }
  if (jobs === 'all') return { env, jobs }
  const [found] = await tx<
    { planned: number | null; known: number; wanted: string[]; done: string[] }[]
  >`/* commands.jobs */
    select b.n_total planned, count(j.key)::int known,
      coalesce(array_agg(j.id order by j.key) filter (where j.status in ('failed', 'lost', 'stopped')), '{}') wanted,
      coalesce(array_agg(j.id order by j.key) filter (where j.status in ('completed', 'running')), '{}') done
    from batches b left join jobs j on j.batch_key = b.key where b.key = ${batch.key} group by b.key`
  const { planned, known, wanted, done } = found ?? { planned: null, known: 0, wanted: [], done: [] }
  const missing = Math.max(0, (planned ?? 0) - known)
  if (wanted.length === 0 && missing === 0) throw new Problem('nothing_to_rerun')
  // The names of jobs that never started are not known, so the process also gets the names of finished ones.
  env.SVC_RERUN_JOBS = JSON.stringify(wanted)
  env.SVC_RERUN_DONE = JSON.stringify(done)
  for (const list of [env.SVC_RERUN_JOBS, env.SVC_RERUN_DONE]) {
    if (Buffer.byteLength(list) > MAX_ENV_BYTES) throw new Problem('too_many_jobs')
  }
  return { env, jobs }
}
