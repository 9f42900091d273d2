import type { Sql } from './sql.ts'

/** The time of the database, estimated from this host's clock and the offset measured last. */
export interface DatabaseClock {
  now(): Date
  stop(): void
}

const INTERVAL_MS = 60_000
/** The offset of a slower answer would be too uncertain. */
const MAX_ROUND_TRIP_MS = 1_000

/**
 * All servers of a database measure silence by the same clock, that of the database. The offset to it is measured at
 * the start and every minute.
 * @throws any error of the first query; later errors are ignored and the last offset is kept
 */
export async function followDatabaseClock(sql: Sql): Promise<DatabaseClock> {
  let offsetMs = 0
  async function measureOffset(): Promise<void> {
    const before = Date.now()
    const began = performance.now()
    const [row] = await sql<{ ms: number }[]>`/* clock.read */
      select (extract(epoch from clock_timestamp()) * 1000)::float8 ms`
    const tookMs = performance.now() - began
    if (row !== undefined && tookMs <= MAX_ROUND_TRIP_MS) offsetMs = row.ms - (before + tookMs / 2)
  }
  await measureOffset()
  const timer = setInterval(() => void measureOffset().catch(() => {}), INTERVAL_MS)
  timer.unref()
  return { now: () => new Date(Date.now() + offsetMs), stop: () => clearInterval(timer) }
}
