import type { Logger } from 'pino'
import type { Sql } from '../db/sql.ts'
import { agentsDue, batchesDue, type WatchResult, watchAgents, watchBatches } from '../domain/health/index.ts'
import type { Clock } from '../domain/liveness.ts'
import { commit, type Writer } from '../stream/commit.ts'

/** Batches or agents per transaction, which holds their locks. */
const BATCH_SIZE = 50

/**
 * Checks once which batches, jobs and agents have become stalled, idle, lost or offline, and which have recovered
 * (contract §7 "Stalled", "Idle"). Each episode is recorded, sent to streams and mailed once, regardless of the number
 * of servers.
 */
export async function watch(
  { sql, writer, log, clock }: { sql: Sql; writer: Writer; log: Logger; clock: () => Clock },
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
  if (total.opened + total.cleared + total.lost > 0) log.info(total, 'alert episodes changed')
}
