import { type Sql, type Tx, transaction } from '../../db/sql.ts'
import type { ObjectStore } from '../../storage/index.ts'
import { eventTypeCode } from '../events/index.ts'
import {
  type Column,
  columnList,
  columnsOf,
  inserted,
  ofBatch,
  TABLES,
  type Table,
  textOf,
  type Value,
} from './columns.ts'
import { readManifest, readRows } from './manifest.ts'

/** What retention has not removed from the archive, but would have from the tables: instants; null: never. */
export interface Kept {
  lines: string
  payloads: string | null
}

export const LINE = eventTypeCode('log_line')

/** Whether retention deletes the text of an event of this time, in microseconds. */
export const isDue = ({ lines, payloads }: Kept, line: boolean, time: number): boolean => {
  const cutoff = line ? lines : payloads
  return cutoff !== null && time < Date.parse(cutoff) * 1000
}
const ROWS_AT_ONCE = 2_000
/** db_ids of a stretch of the sweeper (domain/retention/ranges.ts). */
const STRETCH_IDS = 65_536

/**
 * Brings the rows of a batch back into the tables, in one transaction. Others that want the same batch wait for it;
 * ingest and reads of other batches do not notice, because the batch's own lock is taken last.
 * @returns false when the batch was not in the archive any more
 * @throws DamagedArchive; then nothing has changed
 */
export async function thaw(sql: Sql, store: ObjectStore, batchKey: number, kept: Kept): Promise<boolean> {
  return transaction(sql, async (tx) => {
    const [row] = await tx<{ state: string; location: string; sha: string }[]>`/* cold.lock_cold */
      select state, location, manifest_sha256 sha from cold_batches where batch_key = ${batchKey} for update`
    if (row?.state !== 'cold') return false
    const manifest = await readManifest(store, row.location, row.sha)
    const columns = await columnsOf(tx)
    // What stayed in the tables is replaced by what was archived.
    for (const table of TABLES)
      await tx.unsafe(
        `/* cold.replace */ delete from ${table} e where ${ofBatch(columns.get(table) ?? [])}`,
        [batchKey],
      )
    const stretches = new Set<number>()
    for await (const { file, values } of readRows(store, row.location, manifest)) {
      if (file.table === null) continue
      const now = columns.get(file.table) ?? []
      const of = file.columns.flatMap(({ name }) => now.find((column) => column.name === name) ?? [])
      if (of.length < file.columns.length)
        throw new Error(`${file.table} lacks a column that ${row.location}/${file.name} has`)
      retain(file.table, of, values, kept)
      const dbIds = of.findIndex(({ name }) => name === 'db_id')
      if (file.table === 'events')
        for (const id of values[dbIds] ?? []) stretches.add(Math.floor((id as number) / STRETCH_IDS))
      addHighParts(of, values, now)
      await insertRows(tx, file.table, of, values)
    }
    // The sweeper is to look at their db_ids again.
    await tx`/* cold.unsweep */ delete from swept_stretches where number = any (${[...stretches]}::bigint[])`
    await tx`/* cold.lock_thawed */
      select from batch_progress p join batches b on b.key = p.batch_key where p.batch_key = ${batchKey} for no key update of p, b`
    await tx`/* cold.thawed_batch */ update batches set cold_at = null where key = ${batchKey}`
    await tx`/* cold.thawed */
      update cold_batches set state = 'warm', thawed_at = now(), problem = null, problem_at = null where batch_key = ${batchKey}`
    return true
  })
}

/** Archives from before steps had 64 bits lack the high parts, which are 0. */
function addHighParts(columns: Column[], values: Value[][], now: readonly Column[]): void {
  const rows = values[0]?.length ?? 0
  for (const column of now) {
    if (!/^(epoch|first|last)_high$/.test(column.name) || columns.includes(column)) continue
    columns.push(column)
    values.push(new Array<Value>(rows).fill(0))
  }
}

/** Drops from the rows what would have gone by now. Times of the file are microseconds. */
function retain(table: Table, columns: readonly Column[], values: Value[][], kept: Kept): void {
  const at = (name: string): Value[] => values[columns.findIndex((column) => column.name === name)] ?? []
  if (table === 'log_lines') dropLines(columns, values, kept)
  if (table === 'events') {
    const [type, payload, packed] = [at('type'), at('payload'), at('packed')]
    for (const [i, time] of (at('ts') as number[]).entries()) {
      if (isDue(kept, type[i] === LINE, time)) packed[i] = payload[i] = null
      // The file has the text of every event, the table has it packed where it can.
      if (packed[i] !== null) payload[i] = null
    }
  }
}

/** Removes rows of `log_lines` that are due. Times are microseconds. */
export function dropLines(columns: readonly Column[], values: readonly Value[][], kept: Kept): void {
  const times = values[columns.findIndex(({ name }) => name === 'ts')] as number[]
  const stays = times.map((time) => !isDue(kept, true, time))
  for (const column of values) {
    let n = 0
    for (const [i, value] of column.entries()) if (stays[i]) column[n++] = value
    column.length = n
  }
}

async function insertRows(
  tx: Tx,
  table: Table,
  columns: readonly Column[],
  values: readonly (readonly Value[])[],
): Promise<void> {
  const names = columns.map((_, i) => `v${i}`)
  const text = `/* cold.insert */ insert into ${table} (${columnList(columns)})
    select ${columns.map((column, i) => inserted(column, `u.v${i}`)).join(', ')}
    from unnest(${columns.map((_, i) => `$${i + 1}::text[]`).join(', ')}) as u (${names.join(', ')})`
  const rows = values[0]?.length ?? 0
  for (let from = 0; from < rows; from += ROWS_AT_ONCE) {
    const some = values.map((column) => column.slice(from, from + ROWS_AT_ONCE).map(textOf))
    await tx.unsafe(text, some as never[], { prepare: true })
  }
}
