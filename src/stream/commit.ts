import { setTimeout as sleep } from 'node:timers/promises'
import { type Sql, type Tx, transaction } from '../db/sql.ts'
import { fragment, type SqlFragment, sqlFragment } from '../db/sql-fragment.ts'
import { announced, joined } from './announcements.ts'
import type { Change } from './change.ts'

/** What `commit` writes through: a pool, and what wakes the readers of this server and of all others. */
export interface Writer {
  sql: Sql
  wake: () => void
  /** Leaves the announcement out. Only for the test that shows what readers miss without it. */
  unannounced?: boolean
}

/** Least time between notifications of the other servers: each is a transaction of its own. */
const PACE_MS = 50

/**
 * @param options.wakeLocal wakes the readers of this process, so that they need not wait for a notification
 * @param options.paceMs the least time between two notifications; the first is sent at once
 */
export function createWriter(sql: Sql, options: { wakeLocal?: () => void; paceMs?: number } = {}): Writer {
  const { wakeLocal, paceMs = PACE_MS } = options
  let notifying = false
  let again = false
  const notify = async (): Promise<void> => {
    notifying = true
    do {
      again = false
      const begun = performance.now()
      // A lost notification costs a reader at most its poll interval. So an error is ignored, and the transaction does
      // not wait for the disk.
      await sql`/* changes.notify */
        select set_config('synchronous_commit', 'off', true), pg_notify('changes', '')`.catch(() => {})
      const left = paceMs - (performance.now() - begun)
      if (again && left > 0) await sleep(left)
    } while (again)
    notifying = false
  }
  return {
    sql,
    wake: () => {
      wakeLocal?.()
      if (notifying) again = true
      else void notify()
    },
  }
}

/**
 * The only way to write what the stream reports. Runs `work` in a transaction, appends the changes that it returns as
 * the last statement, commits durably, then wakes the readers. If `work` throws, nothing is written and no message is
 * sent. Commits wait for each other only where `work` locks the same rows.
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
      await fragment(tx, writer.unannounced === true ? appendUnannounced(changes) : append(changes))
    }
    return result
  })
  if (changed) writer.wake()
  return result
}

/** Runs `work` in a transaction of which the stream reports nothing. Commits durably, or writes nothing if it throws. */
export const write = <T>(writer: Writer, work: (tx: Tx) => Promise<T>): Promise<T> =>
  commit(writer, async (tx) => ({ result: await work(tx), changes: [] }))

/**
 * Appends changes: the last statement of a transaction. It announces itself before it allocates the first number
 * (decision 0020); readers stay below its numbers until the commit or the rollback.
 */
export const append = (changes: readonly Change[]): SqlFragment => {
  const [channels, types, batches, keys, firsts, lasts] = columnsOf(changes)
  return sqlFragment`/* changes.append */
    with joined as materialized (${joined}),
    announced as materialized (${announced})
    insert into changes (channel, type, batch_key, keys, first_id, last_id)
    select channel, type, nullif(batch_key, '')::bigint, keys::bigint[], nullif(first_id, '')::bigint, nullif(last_id, '')::bigint
    from announced, rows from (
      string_to_table(${channels}, chr(10)), string_to_table(${types}, chr(10)), string_to_table(${batches}, chr(10)),
      string_to_table(${keys}, chr(10)), string_to_table(${firsts}, chr(10)), string_to_table(${lasts}, chr(10))
    ) with ordinality as c (channel, type, batch_key, keys, first_id, last_id, n)
    order by n`
}

/** Without the announcement (Writer.unannounced). */
const appendUnannounced = (changes: readonly Change[]): SqlFragment => {
  const [channels, types, batches, keys, firsts, lasts] = columnsOf(changes)
  return sqlFragment`/* changes.append_unannounced */
    insert into changes (channel, type, batch_key, keys, first_id, last_id)
    select channel, type, nullif(batch_key, '')::bigint, keys::bigint[], nullif(first_id, '')::bigint, nullif(last_id, '')::bigint
    from rows from (
      string_to_table(${channels}, chr(10)), string_to_table(${types}, chr(10)), string_to_table(${batches}, chr(10)),
      string_to_table(${keys}, chr(10)), string_to_table(${firsts}, chr(10)), string_to_table(${lasts}, chr(10))
    ) as c (channel, type, batch_key, keys, first_id, last_id)`
}

/** One text per column, a line per change: channel names hold no newline (ids have no control characters). */
function columnsOf(changes: readonly Change[]): [string, string, string, string, string, string] {
  const column = (value: (change: Change) => string | number | undefined): string =>
    changes.map((change) => value(change) ?? '').join('\n')
  return [
    column((c) => c.channel),
    column((c) => c.type),
    column((c) => ('batchKey' in c ? c.batchKey : undefined)),
    column((c) => `{${'keys' in c ? c.keys.join(',') : ''}}`),
    column((c) => ('ids' in c ? c.ids.first : undefined)),
    column((c) => ('ids' in c ? c.ids.last : undefined)),
  ]
}
