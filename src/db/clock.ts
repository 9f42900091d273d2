import type { Sql } from './sql.ts'

/** The time of the database, estimated from this host's clock and the offset measured last. */
export interface DatabaseClock {
  now(): Date
  stop(): void
}

const INTERVAL_MS = 60_000
/** Local times are cut to whole milliseconds. */
const CUT_MS = 1

/**
 * The offset after an answer of the database. The answer was made between the question and its arrival, so it allows a
 * range of offsets as wide as the round trip; the offset moves into that range, no further. On one host it stays 0, however
 * slow the answers are.
 * @param databaseMs the database's time in the answer
 * @param askedAtMs this host's time before the question
 * @param tookMs from the question to the arrival of the answer
 */
export function offsetAfter(
  offsetMs: number,
  { databaseMs, askedAtMs, tookMs }: { databaseMs: number; askedAtMs: number; tookMs: number },
): number {
  const most = databaseMs - askedAtMs
  return Math.min(most, Math.max(most - tookMs - CUT_MS, offsetMs))
}

/**
 * All servers of a database measure silence by the same clock, that of the database. The offset to it is measured at
 * the start and every minute.
 * @throws any error of the first query; later errors are ignored and the last offset is kept
 */
export async function followDatabaseClock(sql: Sql): Promise<DatabaseClock> {
  let offsetMs = 0
  async function measureOffset(): Promise<void> {
    const askedAtMs = Date.now()
    const began = performance.now()
    const [row] = await sql<{ ms: number }[]>`/* clock.read */
      select (extract(epoch from clock_timestamp()) * 1000)::float8 ms`
    const tookMs = performance.now() - began
    if (row !== undefined) offsetMs = offsetAfter(offsetMs, { databaseMs: row.ms, askedAtMs, tookMs })
  }
  await measureOffset()
  const timer = setInterval(() => void measureOffset().catch(() => {}), INTERVAL_MS)
  timer.unref()
  return { now: () => new Date(Date.now() + offsetMs), stop: () => clearInterval(timer) }
}
