import type { Logger } from 'pino'
import type { Sql } from '../db/sql.ts'
import { agentsDue, batchesDue, type WatchResult, watchAgents, watchBatches } from '../domain/health/index.ts'
import type { Clock } from '../domain/liveness.ts'
import { endSweep, type SweepEvent, sweepsDue } from '../domain/sweeps/index.ts'
import { commit, type Writer, write } from '../stream/commit.ts'

/** Batches or agents per transaction, which holds their locks. */
const BATCH_SIZE = 50

/** Stores events of the service in the name of a user. */
export type StoreEvents = (
  owner: { id: string; role: 'user' },
  events: readonly SweepEvent[],
) => Promise<void>

/**
 * Checks once which batches, jobs and agents have become stalled, idle, lost or offline, and which have recovered
 * (contract §7 "Stalled", "Idle"). Each episode is recorded, sent to streams and mailed once, regardless of the number
 * of servers.
 */
export async function watch(
  {
    sql,
    writer,
    log,
    clock,
    store,
  }: { sql: Sql; writer: Writer; log: Logger; clock: () => Clock; store: StoreEvents },
  signal: AbortSignal,
): Promise<void> {
  const at = clock()
  const total: WatchResult = { opened: 0, cleared: 0, lost: 0 }
  for (const [keys, watcher] of [
    [await batchesDue(sql, at), watchBatches],
    [await agentsDue(sql, at), watchAgents],
  ] as const) {
    for (let n = 0; n < keys.length && !signal.aborted; n += BATCH_SIZE) {
      const some = keys.slice(n, n + BATCH_SIZE)
      const result = await commit(writer, (tx) => watcher(tx, some, at))
      total.opened += result.opened
      total.cleared += result.cleared
      total.lost += result.lost
    }
  }
  await endSweeps({ sql, writer, clock, store }, signal)
  if (total.opened + total.cleared + total.lost > 0) log.info(total, 'alert episodes changed')
}

/** Ends the batches of sweeps whose last trial ended without a worker that asked for another one. */
async function endSweeps(
  { sql, writer, clock, store }: Pick<Parameters<typeof watch>[0], 'sql' | 'writer' | 'clock' | 'store'>,
  signal: AbortSignal,
): Promise<void> {
  for (const id of await sweepsDue(sql)) {
    if (signal.aborted) return
    const ended = await write(writer, (tx) => endSweep(tx, id, clock()))
    if (ended !== undefined) await store(ended.owner, ended.events)
  }
}
