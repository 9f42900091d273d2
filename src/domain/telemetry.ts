import { byBatch } from '../db/by-batch.ts'
import type { Db, Fragment, Sql } from '../db/sql.ts'

/**
 * A connection for reading telemetry, which can restore archived batches (domain/cold). Readers take this type instead of
 * `Db`, so the compiler refuses a call without it. They restore right before the statement, not at the beginning of a
 * request, because a batch may be archived during an export.
 */
export type Telemetry = Db & Restoring

/** The same, where it is also a pool: for what begins transactions or goes on in the background. */
export type TelemetryPool = Sql & Restoring

interface Restoring {
  /**
   * Returns once the rows of all these batches are in the database.
   * @param part `kept`: only rows that stay when a batch is archived: series, snapshots, log lines, starts and ends
   * @returns whether rows were restored
   * @throws Problem archive_unreadable
   */
  readonly restore: Restore
}

export type Restore = (of: RowsOf, part?: 'kept') => Promise<boolean>

/** Whose rows are about to be read. */
export type RowsOf = { batches: readonly number[] } | { jobs: readonly number[] }

/** Readers of this pool restore archived batches from now on. */
export const telemetryOf = (sql: Sql, restore: Restore): TelemetryPool => Object.assign(sql, { restore })

/** Reads rows of batches once they are in the database; see `byBatch`. */
export async function readByBatch<Row extends { batchKey: number }, Result>(
  db: Telemetry,
  rows: readonly Row[],
  part: 'kept' | undefined,
  work: (rows: readonly Row[], batch: Fragment) => PromiseLike<readonly Result[]>,
): Promise<Result[]> {
  if (rows.length === 0) return []
  await db.restore({ batches: [...new Set(rows.map(({ batchKey }) => batchKey))] }, part)
  return byBatch(db, rows, work)
}

/**
 * For readers within a transaction, which restore nothing: their rows are in the database, or are left out. A pool that
 * restores is not changed.
 */
export const asTheyAre = <Connection extends Db>(db: Connection): Connection & Restoring =>
  'restore' in db ? (db as Connection & Restoring) : Object.assign(db, { restore: async () => false })
