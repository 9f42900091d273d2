import type { Logger } from 'pino'
import type { Sql } from '../db/sql.ts'
import { findUnstored, storeFields } from '../domain/lists/index.ts'
import { type Writer, write } from '../stream/commit.ts'
import { type Loop, startLoop } from './loop.ts'

const EVERY_MS = 5_000
const BATCHES_AT_ONCE = 200

/**
 * Stores the computed fields of batches that have stopped changing, including ended batches that receive late events,
 * until `signal` is aborted. Several servers may do this at once: the second finds the batch locked or already stored.
 */
export async function storeFieldsOfBatches(
  { sql, writer, log }: { sql: Sql; writer: Writer; log: Logger },
  signal?: AbortSignal,
): Promise<void> {
  let before = Number.MAX_SAFE_INTEGER
  for (;;) {
    const keys = await findUnstored(sql, BATCHES_AT_ONCE, before)
    if (keys.length === 0) return
    before = Math.min(...keys)
    for (const key of keys) {
      if (signal?.aborted === true) return
      try {
        await write(writer, (tx) => storeFields(tx, key))
      } catch (err) {
        // Lists keep computing these fields.
        log.warn({ err, batch: key }, 'the fields of a batch could not be stored; it is tried again')
      }
    }
  }
}

export function startStoringFields(of: {
  sql: Sql
  writer: Writer
  log: Logger
  atRest: () => boolean
}): Loop {
  return startLoop({
    everyMs: EVERY_MS,
    atRest: of.atRest,
    work: (signal) => storeFieldsOfBatches(of, signal),
    failed: (err) => of.log.warn({ err }, 'storing the fields of batches failed; it is tried again'),
  })
}
