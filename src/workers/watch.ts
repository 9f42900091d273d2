import type { Logger } from 'pino'
import type { Sql } from '../db/sql.ts'
import { agentsDue, batchesDue, type WatchResult, watchAgents, watchBatches } from '../domain/health/index.ts'
import type { Clock } from '../domain/liveness.ts'
import { commit, type Writer } from '../stream/commit.ts'

/** Batches or agents of one transaction, which holds their locks. */
const AT_ONCE = 50

/**
 * Looks once for what went silent, idle, lost or offline, and for what came back (contract §7 "Stalled", "Idle"): a
 * verdict, a message and mail for each episode, once, however many servers there are.
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
    for (let n = 0; n < keys.length && !signal.aborted; n += AT_ONCE) {
      const some = keys.slice(n, n + AT_ONCE)
      const looked = await commit(writer, (tx) => watcher(tx, some, at))
      total.opened += looked.opened
      total.cleared += looked.cleared
      total.lost += looked.lost
    }
  }
  if (total.opened + total.cleared + total.lost > 0) log.info(total, 'verdicts changed')
}
