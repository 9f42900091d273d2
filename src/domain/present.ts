import type { Db } from '../db/sql.ts'
import { type BatchRow, type BatchView, batchView, canOf } from './batches/index.ts'
import type { Caller } from './caller.ts'
import { type JobRow, type JobView, jobView } from './jobs/index.ts'
import type { Clock } from './liveness.ts'

/** The batches of these rows as the caller is shown them, in their order; what spans nouns is looked up once for all. */
export async function presentBatches(
  _db: Db,
  caller: Caller,
  rows: readonly BatchRow[],
  clock: Clock,
): Promise<BatchView[]> {
  return rows.map((row) => batchView(row, clock, { can: canOf(row, caller), hostId: null, etaS: null }))
}

/** The jobs of these rows, in their order. */
export async function presentJobs(_db: Db, rows: readonly JobRow[], clock: Clock): Promise<JobView[]> {
  return rows.map((row) => jobView(row, clock, { etaS: null }))
}
