import type { Logger } from 'pino'
import { openReplica, type Replica } from '../db/replica.ts'
import { PAGED_READS, type Sql } from '../db/sql.ts'
import { type Restore, type TelemetryPool, telemetryOf } from './telemetry.ts'

/**
 * The replica that exports and long reads are answered from.
 * @param waitS how long a read waits for it
 * @param options.restore restores batches from the archive, on the primary
 * @param options.archives whether batches may be in an archive that can be read
 */
export function openReadReplica(
  { url, waitS }: { url: string; waitS: number },
  options: {
    primary: Sql
    readTimeoutS: number
    restore: Restore
    archives: boolean
    log: Pick<Logger, 'info' | 'warn'>
  },
): Replica<TelemetryPool> {
  const { primary, readTimeoutS, restore, archives, log } = options
  const replica = openReplica(url, {
    primary,
    waitMs: waitS * 1000,
    settings: { ...PAGED_READS, statement_timeout: String(readTimeoutS * 1000) },
    onStateChange: (usable, message) => (usable ? log.info(message) : log.warn(message)),
  })
  const sql = telemetryOf(replica.sql, async (of, part) => {
    const restored = await restore(of, part)
    // Rows may have been restored from the archive just now, here or on another server: without them a read
    // would be incomplete without an error.
    if (archives && !(await replica.hasCaughtUp(readTimeoutS * 1000)))
      throw new Error('the replica lacks what came back from the archive')
    return restored
  })
  return { ...replica, sql }
}
