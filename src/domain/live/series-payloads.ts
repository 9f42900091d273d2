import { itemAt } from '../../checked.ts'
import type { Db } from '../../db/sql.ts'
import type { LoggedChange } from '../../stream/log.ts'
import type { ChangePayloads } from '../../stream/payloads.ts'
import { eventTypeCode, payloadEpoch, withTemplate, writeNumber } from '../events/index.ts'
import type { LogStream } from '../logs/index.ts'

/** What the stream says of points, log lines and snapshots: those that the events of the change brought. */

/** A number as JSON writes it, or "NaN", "Infinity", "-Infinity". */
export type PayloadNumber = number | string

/** An epoch with all its series, merged from all events that were about it (contract §1). */
export interface PayloadPoint {
  job_id: string
  job_key: string
  epoch: number
  timestamp: string
  values: Record<string, PayloadNumber>
}

export interface PayloadLine {
  db_id: number
  timestamp: string
  job_id: string
  level: string
  stream: LogStream | null
  line: string
}

export interface PayloadSnapshot {
  db_id: number
  timestamp: string
  /** Null for one of the whole batch. */
  job_id: string | null
  values: Record<string, PayloadNumber>
  /** As it was sent. */
  gpus: unknown
}

/** The changes as rows (n, batch_key, first_id, last_id) to join with; n is the position. */
const wanted = (db: Db, changes: readonly LoggedChange[]) => db`
  unnest(${changes.map((_, i) => i)}::int[], ${changes.map((c) => c.batchKey ?? 0)}::bigint[],
    ${changes.map((c) => c.firstId ?? 0)}::bigint[], ${changes.map((c) => c.lastId ?? -1)}::bigint[])
  as w (n, batch_key, first_id, last_id)`

/** A message per change, with the rows that are its own; none where there are none (any more). */
function payloadsOfRows<Row extends { n: number }, Item>(
  changes: readonly LoggedChange[],
  rows: readonly Row[],
  name: string,
  itemOf: (row: Row) => Item,
): (ChangePayloads<unknown> | null)[] {
  const items: Item[][] = changes.map(() => [])
  for (const row of rows) items[row.n]?.push(itemOf(row))
  return items.map((list) => {
    if (list.length === 0) return null
    const payload = JSON.stringify({ [name]: list })
    return { payloadFor: () => ({ key: '', text: () => payload }) }
  })
}

/**
 * `{points}`. The events say which epochs they were about, the epochs say what holds: where several events were about
 * one, it is the merged values that are told.
 */
export async function loadEpochs(
  db: Db,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<unknown> | null)[]> {
  const rows = await db<
    {
      n: number
      job_key: number
      job_id: string
      epoch: number
      timestamp: string
      series: string[]
      vals: (number | null)[]
    }[]
  >`/* live.epochs */
    select w.n, e.job_key, j.id job_id, e.epoch, e.ts timestamp, p.series, e.vals
    from ${wanted(db, changes)}
    cross join lateral (
      select e.job_key, ${payloadEpoch(db)} epoch, min(e.db_id) db_id
      from events e ${withTemplate(db)}
      where e.db_id between w.first_id and w.last_id and e.batch_key = w.batch_key
        and e.type = ${eventTypeCode('job_epoch')} and (e.payload is not null or e.packed is not null)
      group by 1, 2) s
    join epochs e on e.job_key = s.job_key and e.epoch = s.epoch
    join jobs j on j.key = e.job_key
    join job_progress p on p.job_key = e.job_key
    order by w.n, s.db_id`
  return payloadsOfRows(changes, rows, 'points', (row): PayloadPoint => {
    // Without a prototype, so that `__proto__` is a series like any other.
    const values: PayloadPoint['values'] = Object.create(null)
    for (const [i, value] of row.vals.entries()) {
      if (value !== null) values[itemAt(row.series, i)] = writeNumber(value)
    }
    const { job_id, job_key, epoch, timestamp } = row
    return { job_id, job_key: String(job_key), epoch, timestamp, values }
  })
}

/** `{lines}`, in the order in which they arrived. */
export async function loadLines(
  db: Db,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<unknown> | null)[]> {
  const rows = await db<({ n: number } & PayloadLine)[]>`/* live.lines */
    select w.n, l.db_id, l.ts timestamp, j.id job_id, l.level, l.stream, l.line
    from ${wanted(db, changes)}
    join log_lines l on l.batch_key = w.batch_key and l.db_id between w.first_id and w.last_id
    join jobs j on j.key = l.job_key
    order by w.n, l.db_id`
  return payloadsOfRows(changes, rows, 'lines', ({ n: _, ...line }): PayloadLine => line)
}

const COLUMNS = ['gpu_util_pct', 'gpu_mem_mb', 'cpu_util_pct', 'ram_mb', 'disk_free_mb'] as const

/** `{snapshots}`. They are kept by time, so the events say where to look. */
export async function loadSnapshots(
  db: Db,
  changes: readonly LoggedChange[],
): Promise<(ChangePayloads<unknown> | null)[]> {
  const rows = await db<
    ({
      n: number
      db_id: number
      timestamp: string
      job_id: string | null
      gpus: unknown
      extra: Record<string, string> | null
    } & Record<(typeof COLUMNS)[number], number | null>)[]
  >`/* live.snapshots */
    select w.n, r.db_id, r.ts timestamp, j.id job_id, r.gpu_util_pct, r.gpu_mem_mb, r.cpu_util_pct, r.ram_mb,
      r.disk_free_mb, r.gpus, r.extra
    from ${wanted(db, changes)}
    join events v on v.db_id between w.first_id and w.last_id and v.batch_key = w.batch_key
      and v.type = ${eventTypeCode('resource_snapshot')}
    join resource_snapshots r on r.batch_key = v.batch_key and r.ts = v.ts and r.db_id = v.db_id
    left join jobs j on j.key = r.job_key
    order by w.n, r.db_id`
  return payloadsOfRows(changes, rows, 'snapshots', (row): PayloadSnapshot => {
    const values: PayloadSnapshot['values'] = Object.create(null)
    for (const name of COLUMNS) if (row[name] !== null) values[name] = writeNumber(row[name])
    for (const [name, value] of Object.entries(row.extra ?? {})) values[name] = writeNumber(Number(value))
    const { db_id, timestamp, job_id, gpus } = row
    return { db_id, timestamp, job_id, values, gpus }
  })
}
