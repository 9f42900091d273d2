import type { Sql } from './sql.ts'

/** The database's clock, as this process knows it: that of its host, put right by what the database last said. */
export interface DatabaseClock {
  now(): Date
  stop(): void
}

const EVERY_MS = 60_000
/** An answer that took longer says too little about the moment. */
const MAX_ROUND_TRIP_MS = 1_000

/**
 * All servers of one database judge silence by one clock: the database's. It is read at the start and every minute.
 * @throws what the database throws at the start; later it goes on with what it knows
 */
export async function followDatabaseClock(sql: Sql): Promise<DatabaseClock> {
  let offsetMs = 0
  async function ask(): Promise<void> {
    const before = Date.now()
    const began = performance.now()
    const [row] = await sql<{ ms: number }[]>`/* clock.read */
      select (extract(epoch from clock_timestamp()) * 1000)::float8 ms`
    const tookMs = performance.now() - began
    if (row !== undefined && tookMs <= MAX_ROUND_TRIP_MS) offsetMs = row.ms - (before + tookMs / 2)
  }
  await ask()
  const timer = setInterval(() => void ask().catch(() => {}), EVERY_MS)
  timer.unref()
  return { now: () => new Date(Date.now() + offsetMs), stop: () => clearInterval(timer) }
}
