import type { Sql, Tx } from '../db/sql.ts'
import type { Change } from './change.ts'

/** The advisory lock that orders the log of changes: whoever appends holds it until its commit. */
const CHANGES_LOCK = 7_041_777

/** What `commit` writes through: a pool and the bell that wakes the readers of all servers. */
export interface Writer {
  sql: Sql
  wake: () => void
}

export function createWriter(sql: Sql): Writer {
  let ringing = false
  let again = false
  const ring = async (): Promise<void> => {
    ringing = true
    do {
      again = false
      // A lost notification costs a reader at most its poll interval, so an error here is not the writer's.
      await sql`/* changes.notify */ select pg_notify('changes', '')`.catch(() => {})
    } while (again)
    ringing = false
  }
  return {
    sql,
    wake: () => {
      if (ringing) again = true
      else void ring()
    },
  }
}

/**
 * The one way to write. Runs `work` in a transaction, appends the changes it returns as the last statement, under
 * the ordering lock, commits durably, then wakes the readers. Nothing is visible, and nothing is said, if `work`
 * throws.
 */
export async function commit<T>(
  writer: Writer,
  work: (tx: Tx) => Promise<{ result: T; changes: readonly Change[] }>,
): Promise<T> {
  let changed = false
  const result = await writer.sql.begin(async (tx) => {
    const { result, changes } = await work(tx)
    if (changes.length > 0) {
      changed = true
      await appendChanges(tx, changes)
    }
    return { result }
  })
  if (changed) writer.wake()
  return (result as { result: T }).result
}

/**
 * JSON text and channel names hold no newline (ids have no control characters), so each column travels as one
 * text split by newlines: far cheaper for both sides than an array of JSON strings.
 */
async function appendChanges(tx: Tx, changes: readonly Change[]): Promise<void> {
  const channels = changes.map((c) => c.channel).join('\n')
  const types = changes.map((c) => c.type).join('\n')
  const payloads = changes.map((c) => JSON.stringify(c.payload)).join('\n')
  const lock = tx`/* changes.lock */ select pg_advisory_xact_lock(${CHANGES_LOCK})`
  const append = tx`/* changes.append */
    insert into changes (channel, type, payload)
    select channel, type, payload
    from rows from (string_to_table(${channels}, chr(10)), string_to_table(${types}, chr(10)), string_to_table(${payloads}, chr(10)))
      with ordinality as c (channel, type, payload, n)
    order by n`
  await Promise.all([lock, append])
}
