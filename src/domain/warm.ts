import type { Db, Sql } from '../db/sql.ts'

/**
 * Telemetry of a batch may be in the archive (domain/cold). Every statement that reads telemetry has its batches brought
 * back first: right before the statement, not at the beginning of a request, since an export may outlast the moment at
 * which a batch is archived.
 */
export interface Warmer {
  /**
   * Returns once the rows of all these batches are in the database.
   * @param part `series`: only what charts read, which batches keep when they are archived
   * @throws Problem archive_unreadable
   */
  warm(of: Telemetry, part?: 'series'): Promise<void>
}

/** Whose rows are about to be read. */
export type Telemetry = { batches: readonly number[] } | { jobs: readonly number[] }

const warmers = new WeakMap<object, Warmer>()

/** Reads through this pool wait for the warmer from now on. */
export const readWarmed = (sql: Sql, warmer: Warmer): void => void warmers.set(sql, warmer)

/** Brings back what is in the archive. Nothing to do without one, or within a transaction. */
export async function warm(db: Db, of: Telemetry, part?: 'series'): Promise<void> {
  await warmers.get(db)?.warm(of, part)
}
