import type { Db } from '../db/sql.ts'
import { hostsOfBatches } from './agents/index.ts'
import { type BatchRow, type BatchView, batchView, canOf } from './batches/index.ts'
import type { Caller } from './caller.ts'
import { type BatchEtas, etaOf } from './eta/index.ts'
import { type JobRow, type JobView, jobView } from './jobs/index.ts'
import type { Clock } from './liveness.ts'

/** The batches of these rows as the caller is shown them, in their order; what spans nouns is looked up once for all. */
export async function presentBatches(
  db: Db,
  caller: Caller,
  rows: readonly BatchRow[],
  clock: Clock,
): Promise<BatchView[]> {
  const [etas, hosts] = await Promise.all([
    etasOf(db, rows, (row) => row.key, clock),
    hostsOfBatches(
      db,
      rows.map((row) => row.key),
      clock.now,
    ),
  ])
  return rows.map((row) =>
    batchView(row, clock, {
      can: canOf(row, caller),
      hostId: hosts.get(row.key)?.id ?? null,
      etaS: etas.get(row.key)?.batch.etaS ?? null,
    }),
  )
}

/** The jobs of these rows, in their order. */
export async function presentJobs(db: Db, rows: readonly JobRow[], clock: Clock): Promise<JobView[]> {
  const etas = await etasOf(db, rows, (row) => row.batch_key, clock)
  return rows.map((row) =>
    jobView(row, clock, { etaS: etas.get(row.batch_key)?.jobs.get(row.key)?.etaS ?? null }),
  )
}

/** The estimates of the batches that rows belong to; only what runs has any. */
async function etasOf<Row extends { status: string }>(
  db: Db,
  rows: readonly Row[],
  batchKeyOf: (row: Row) => number,
  { now }: Clock,
): Promise<Map<number, BatchEtas>> {
  const running = new Set(rows.filter((row) => row.status === 'running').map(batchKeyOf))
  return running.size === 0 ? new Map() : etaOf(db, [...running], now)
}
