import type { Tx } from '../../db/sql.ts'
import type { Change } from '../../stream/change.ts'
import { commandChanges, recordSteps, SERVICE } from './steps.ts'

/** A batch whose batch_start was sent with a token of its owner. */
export interface StartedBatch {
  key: number
  /** The command that the sender's token belongs to; null for any other token. */
  commandId: string | null
}

/** How long after the start of its process a reporter may send its first event, including the error of its clock. */
const CLOCK_TOLERANCE = '10 minutes'

/**
 * Links batches to the commands whose processes report them (contract §4, `rerun_of`). The token of the process
 * identifies its command. A process that uses another token of the same user is matched by the batch that it repeats,
 * its host and its time: it gets the newest rerun of that batch there that no other batch is linked to; if none matches
 * by time, as with a wrong clock of the host, one whose process is running now. Only agents of the batch's owner are
 * considered.
 * @returns the changes
 */
export async function linkReruns(tx: Tx, started: readonly StartedBatch[], now: Date): Promise<Change[]> {
  const rows = await tx<
    { command_id: string; batch_key: number; batch_id: string; origin_key: number }[]
  >`/* commands.link */
    with started as (
      select b.key, b.id, b.owner_id, b.host, b.rerun_of, b.started_at, s.command_id
      from unnest(${started.map((s) => s.key)}::bigint[], ${started.map((s) => s.commandId)}::uuid[]) as s (key, command_id)
      join batches b on b.key = s.key
      where not exists (select from command_batches l where l.batch_key = b.key)),
    made as (
      insert into command_batches (batch_key, command_id, linked_at)
      select s.key, c.id, ${now.toISOString()}::timestamptz
      from started s
      cross join lateral (
        select c.id
        from agent_commands c join agents a on a.id = c.agent_id
        cross join lateral (select coalesce(c.claimed_at, c.delivered_at, c.acked_at) at) begun
        cross join lateral (
          select s.started_at > begun.at - ${CLOCK_TOLERANCE}::interval
            and (c.finished_at is null or s.started_at < c.finished_at + ${CLOCK_TOLERANCE}::interval) fits) times
        where c.kind = 'rerun' and a.user_id = s.owner_id and (
          c.id = s.command_id
          or s.command_id is null and a.hostname = s.host
            and c.batch_key = (select o.key from batches o where o.id = s.rerun_of)
            and begun.at is not null and c.state in ('pending', 'in_flight', 'done', 'failed')
            and (times.fits or c.state = 'in_flight')
            and not exists (select from command_batches l where l.command_id = c.id))
        order by times.fits desc, c.number desc limit 1) c
      on conflict (batch_key) do nothing
      returning batch_key, command_id)
    select made.command_id, made.batch_key, s.id batch_id, c.batch_key origin_key
    from made join started s on s.key = made.batch_key join agent_commands c on c.id = made.command_id`
  if (rows.length === 0) return []
  await recordSteps(
    tx,
    rows.map(({ command_id, batch_id, origin_key }) => ({
      batchKey: origin_key,
      commandId: command_id,
      step: 'linked' as const,
      at: now,
      actor: SERVICE,
      detail: { batch_id },
    })),
  )
  return commandChanges(
    tx,
    rows.map((row) => row.command_id),
  )
}
