import { type Sql, type Tx, transaction } from '../db/sql.ts'
import type { Change } from './change.ts'

/** The advisory lock that orders the log of changes: whoever appends holds it until its commit. */
const CHANGES_LOCK = 7_041_777

/** What `commit` writes through: a pool and the bell that wakes the readers of all servers. */
export interface Writer {
  sql: Sql
  wake: () => void
  /** Leaves the ordering lock out. For the test alone that shows what is lost without it. */
  unordered?: boolean
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
  const result = await transaction(writer.sql, async (tx) => {
    const { result, changes } = await work(tx)
    if (changes.length > 0) {
      changed = true
      await appendChanges(tx, changes, writer.unordered === true)
    }
    return result
  })
  if (changed) writer.wake()
  return result
}

/** Channel names hold no newline (ids have no control characters), so each column travels as one text. */
async function appendChanges(tx: Tx, changes: readonly Change[], unordered: boolean): Promise<void> {
  const column = (value: (change: Change) => string | number | undefined): string =>
    changes.map((change) => value(change) ?? '').join('\n')
  const lock = unordered || tx`/* changes.lock */ select pg_advisory_xact_lock(${CHANGES_LOCK})`
  const append = tx`/* changes.append */
    insert into changes (channel, type, batch_key, keys, first_id, last_id)
    select channel, type, nullif(batch_key, '')::bigint, keys::bigint[], nullif(first_id, '')::bigint, nullif(last_id, '')::bigint
    from rows from (
      string_to_table(${column((c) => c.channel)}, chr(10)),
      string_to_table(${column((c) => c.type)}, chr(10)),
      string_to_table(${column((c) => ('batchKey' in c ? c.batchKey : undefined))}, chr(10)),
      string_to_table(${column((c) => `{${'keys' in c ? c.keys.join(',') : ''}}`)}, chr(10)),
      string_to_table(${column((c) => ('ids' in c ? c.ids.first : undefined))}, chr(10)),
      string_to_table(${column((c) => ('ids' in c ? c.ids.last : undefined))}, chr(10))
    ) with ordinality as c (channel, type, batch_key, keys, first_id, last_id, n)
    order by n`
  await Promise.all([lock, append])
}
