import type { Db, Sql } from '../db/sql.ts'

/**
 * Telemetry of a batch may be in the archive (domain/cold). Every statement that reads telemetry restores its batches
 * first: right before the statement, not at the beginning of a request, since an export may outlast the moment at
 * which a batch is archived.
 */
export interface Warmer {
  /**
   * Returns once the rows of all these batches are in the database.
   * @param part `kept`: only rows that stay when a batch is archived: series, snapshots, log lines, starts and ends
   * @returns whether rows were restored
   * @throws Problem archive_unreadable
   */
  warm(of: Telemetry, part?: 'kept'): Promise<boolean>
}

/** Whose rows are about to be read. */
export type Telemetry = { batches: readonly number[] } | { jobs: readonly number[] }

const warmers = new WeakMap<object, Warmer>()

/** Reads through this pool wait for the warmer from now on. */
export const readWarmed = (sql: Sql, warmer: Warmer): void => void warmers.set(sql, warmer)

/**
 * Restores what is in the archive. Nothing to do without one, or within a transaction.
 * @returns whether rows were restored
 */
export const warm = async (db: Db, of: Telemetry, part?: 'kept'): Promise<boolean> =>
  (await warmers.get(db)?.warm(of, part)) ?? false
