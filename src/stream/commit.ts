import { setTimeout as sleep } from 'node:timers/promises'
import { type Sql, type Tx, transaction } from '../db/sql.ts'
import { fragment, type SqlFragment, sqlFragment } from '../db/sql-fragment.ts'
import { announced, joined } from './announcements.ts'
import type { Change } from './change.ts'

/** What `commit` writes through: a pool and the bells that wake the readers of this server and of all others. */
export interface Writer {
  sql: Sql
  wake: () => void
  /** Leaves the announcement out. For the test alone that shows what readers lose without it. */
  unannounced?: boolean
}

/** Each notification of the other servers is a transaction of its own. */
const PACE_MS = 50

/**
 * @param options.ring wakes the readers of this process, which need not wait for a notification
 * @param options.paceMs the least time from one notification of the others to the next; the first is at once
 */
export function createWriter(sql: Sql, options: { ring?: () => void; paceMs?: number } = {}): Writer {
  const { ring, paceMs = PACE_MS } = options
  let ringing = false
  let again = false
  const notify = async (): Promise<void> => {
    ringing = true
    do {
      again = false
      const begun = performance.now()
      // A lost notification costs a reader at most its poll interval: so an error here is not the writer's, and the
      // disk is not waited for.
      await sql`/* changes.notify */
        select set_config('synchronous_commit', 'off', true), pg_notify('changes', '')`.catch(() => {})
      const left = paceMs - (performance.now() - begun)
      if (again && left > 0) await sleep(left)
    } while (again)
    ringing = false
  }
  return {
    sql,
    wake: () => {
      ring?.()
      if (ringing) again = true
      else void notify()
    },
  }
}

/**
 * The one way to write. Runs `work` in a transaction, appends the changes it returns as the last statement, commits
 * durably, then wakes the readers. Nothing is visible, and nothing is said, if `work` throws. Commits wait for each
 * other only where `work` locks the same rows.
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

/**
 * Appends changes: a transaction's last statement. It announces the numbers before it draws the first (decision 0020),
 * and readers stay below them until the commit or the rollback.
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

/** Channel names hold no newline (ids have no control characters), so each column travels as one text. */
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
