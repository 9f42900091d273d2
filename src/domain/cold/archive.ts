import { randomUUID } from 'node:crypto'
import { type Db, inheritDistribution, type Sql } from '../../db/sql.ts'
import type { ObjectStore } from '../../storage/index.ts'
import { sumSnapshots } from '../dashboard/index.ts'
import { eventTypeCode, payloadEpoch, payloadText, withTemplate } from '../events/index.ts'
import { readSeries } from '../metrics/index.ts'
import { asTheyAre } from '../telemetry.ts'
import { type Column, columnsOf, ofBatch, selected, TABLES, type Table, type Value } from './columns.ts'
import { createEpochValues, deriveEvents, type EpochValues, EVENT_EXTRA, takeOutChunks } from './derived.ts'
import {
  type ArchivedFile,
  digestOf,
  MANIFEST,
  type Manifest,
  readManifest,
  readRows,
  sha256,
} from './manifest.ts'
import { createPoints, type Points, takeOutValues } from './points.ts'
import { storeFile } from './store-file.ts'

/** What one file holds at most, so that memory stays bounded: rows, and characters or bytes. */
const PART_ROWS = 20_000
const PART_BYTES = 32 * 1024 * 1024
const ROWS_AT_ONCE = 2_000

/** A batch in the archive, written and read back. */
export interface Written {
  location: string
  manifestSha256: string
  fingerprint: string
  bytes: number
  rows: number
  oldestLine: number | null
  oldestOther: number | null
  gpu: { used: number; idle: number }
}

interface BatchRow {
  key: number
  id: string
  project: string
  started_at: string
  ended_at: string | null
  schema: string
}

/**
 * What tells whether the batch is still as it was read: its events, and how far its series are packed. Retention is not
 * in it: what it removed meanwhile is left out when the batch is read back.
 */
export async function fingerprintOf(db: Db, batchKey: number): Promise<string> {
  const [row] = await db<{ text: string }[]>`/* cold.fingerprint */
    select concat_ws(' ', b.status, p.n_events, (
      select concat_ws(' ', count(*), sum(g.epochs), sum(coalesce(g.packed_step, g.packed_to))) from job_progress g where g.batch_key = b.key)) "text"
    from batches b join batch_progress p on p.batch_key = b.key where b.key = ${batchKey}`
  if (row === undefined) throw new Error(`there is no batch ${batchKey}`)
  return row.text
}

/** A folder of its own for each time: `project/batch-key/when`, without characters that a store may refuse. */
export function newLocation(
  { project, id, key }: { project: string; id: string; key: number },
  now: Date,
): string {
  const plain = (text: string): string =>
    text
      .replace(/[^\w.-]+/g, '_')
      .replace(/^\.+/, '_')
      .slice(0, 100)
  const when = now.toISOString().replace(/[-:]|\.\d+/g, '')
  return `${plain(project)}/${plain(id)}-${key}/${when}-${randomUUID().slice(0, 8)}`
}

/**
 * Writes all telemetry of a batch as one snapshot of the database has it, then reads every object back and compares.
 * @throws DamagedArchive when what is read is not what was written
 */
export async function writeArchive(
  sql: Sql,
  store: ObjectStore,
  batchKey: number,
  location: string,
  now: Date,
): Promise<Written> {
  const { manifest, ...written } = await readBatch(sql, store, batchKey, location, now)
  return { ...written, location, manifestSha256: await storeManifest(store, location, manifest) }
}

/**
 * Writes the manifest of files that are written, and reads all of them back.
 * @returns its checksum
 * @throws DamagedArchive when what is read is not what was written
 */
export async function storeManifest(
  store: ObjectStore,
  location: string,
  manifest: Manifest,
): Promise<string> {
  const text = Buffer.from(JSON.stringify(manifest))
  await store.put(`${location}/${MANIFEST}`, text)
  const manifestSha256 = sha256(text)
  const readBack = await readManifest(store, location, manifestSha256)
  for await (const _ of readRows(store, location, readBack));
  return manifestSha256
}

type Read = Omit<Written, 'location' | 'manifestSha256'> & { manifest: Manifest }

async function readBatch(
  sql: Sql,
  store: ObjectStore,
  batchKey: number,
  location: string,
  now: Date,
): Promise<Read> {
  const result = await sql.begin('isolation level repeatable read read only', async (tx): Promise<Read> => {
    inheritDistribution(sql, tx)
    const [batch] = await tx<BatchRow[]>`/* cold.batch */
      select b.key, b.id, p.slug project, b.started_at, b.ended_at,
        coalesce((select max(migration_name) from _prisma_migrations), '') "schema"
      from batches b join projects p on p.key = b.project_key where b.key = ${batchKey}`
    if (batch === undefined) throw new Error(`there is no batch ${batchKey}`)
    const fingerprint = await fingerprintOf(tx, batchKey)
    const jobs = await tx<Manifest['jobs']>`/* cold.jobs */
      select j.key, j.id, g.series from jobs j join job_progress g on g.job_key = j.key
      where j.batch_key = ${batchKey} order by j.key`
    const jobIds = new Map(jobs.map(({ key, id }) => [key, id]))
    const files: ArchivedFile[] = []
    const oldest = { line: null as number | null, other: null as number | null }
    const columns = await columnsOf(tx)
    const into = { store, location, jobIds, files, points: createPoints(jobs), known: createEpochValues() }
    const points = newPart(into, 'metrics', null, POINTS)
    for await (const { jobId, key, steps, values, times } of readSeries(asTheyAre(tx), batchKey, {
      timed: true,
    })) {
      for (let i = 0; i < steps.length; i++)
        points.add([jobId, key, steps[i] as number, values[i] as number, (times[i] as number) * 1000])
      if (points.full) await points.flush()
    }
    await points.flush()
    for (const table of TABLES) {
      const of = columns.get(table) ?? []
      const part = newPart(into, table, table, of)
      const list = of.map((column, i) => `${selected(column)} c${i}`).join(', ')
      const rows =
        table === 'events'
          ? tx<Record<string, Value>[]>`/* cold.read_events */
              select ${tx.unsafe(list)}, ${payloadText(tx)} payload_text,
                case when e.type = ${EPOCH} then ${payloadEpoch(tx)} end payload_epoch
              from events e ${withTemplate(tx)}
              where e.batch_key = ${batchKey} order by e.db_id`
          : tx.unsafe<Record<string, Value>[]>(
              `/* cold.read */ select ${list} from ${table} e where ${ofBatch(of)} order by ${ORDERS[table]}`,
              [batchKey],
            )
      const at = (name: string): string => `c${of.findIndex((column) => column.name === name)}`
      const [type, ts, payload] = [at('type'), at('ts'), at('payload')]

      for await (const some of rows.cursor(ROWS_AT_ONCE)) {
        for (const row of some) {
          // The text of an event, whichever way the table keeps it; `packed` says that it is not `payload`.
          if (table === 'events') row[at('payload')] = row.payload_text as Value
          const extra = table === 'events' ? [row.payload_epoch as Value, null, null] : []
          part.add([...of.map((_, i) => row[`c${i}`] as Value), ...extra])
          if (table !== 'events' || row[payload] === null) continue
          const kind = row[type] === LINE ? 'line' : 'other'
          const when = row[ts] as number
          if (oldest[kind] === null || when < oldest[kind]) oldest[kind] = when
        }
        if (part.full) await part.flush()
      }
      await part.flush()
    }
    const templates = newPart(into, 'payload_templates', null, TEMPLATES)
    for await (const some of tx<{ hash: Uint8Array; template: string }[]>`/* cold.read_templates */
      select hash, template from payload_templates where batch_key = ${batchKey} order by hash`.cursor(
      ROWS_AT_ONCE,
    )) {
      for (const { hash, template } of some) templates.add([hash, template])
      if (templates.full) await templates.flush()
    }
    await templates.flush()
    const gpu = (await sumSnapshots(tx, [batchKey], now)).get(batchKey) ?? { used: 0, idle: 0 }
    const { schema, ...about } = batch
    return {
      manifest: { format: 3, schema, archived_at: now.toISOString(), batch: about, jobs: [...jobs], files },
      fingerprint,
      bytes: files.reduce((sum, file) => sum + file.bytes, 0),
      rows: files.reduce((sum, file) => sum + (file.table === null ? 0 : file.rows), 0),
      oldestLine: oldest.line,
      oldestOther: oldest.other,
      gpu,
    }
  })
  return result as Read
}

const LINE = eventTypeCode('log_line')
const EPOCH = eventTypeCode('job_epoch')
const ORDERS: Record<Table, string> = {
  events: 'db_id',
  epochs: 'job_key, epoch_high, epoch',
  metric_chunks: 'job_key, series_no, first_high, first_epoch',
  log_lines: 'db_id',
  resource_snapshots: 'ts, db_id',
}
/** The points as those who read the files want them; the values of epochs are restored from them. */
const POINTS: Column[] = [
  { name: 'job_id', kind: 'text', type: 'text' },
  { name: 'metric', kind: 'text', type: 'text' },
  { name: 'step', kind: 'long', type: 'bigint' },
  { name: 'value', kind: 'double', type: 'double precision' },
  { name: 'timestamp', kind: 'instant', type: 'timestamp with time zone' },
]

/** With these the text of an event whose `packed` is in no file can be put together without the service. */
const TEMPLATES: Column[] = [
  { name: 'hash', kind: 'bytes', type: 'bytea' },
  { name: 'template', kind: 'text', type: 'text' },
]

interface Into {
  store: ObjectStore
  location: string
  jobIds: ReadonlyMap<number, string>
  /** What was written so far. */
  files: ArchivedFile[]
  /** What was written so far of points and epochs. */
  points: Points
  known: EpochValues
}

/** Gathers the rows of a table and writes them file by file. */
function newPart(
  { store, location, jobIds, files, points, known }: Into,
  what: string,
  table: Table | null,
  of: readonly Column[],
) {
  const extra = table === 'events' ? EVENT_EXTRA : []
  const columns = [...of, ...extra]
  let values: Value[][] = columns.map(() => [])
  let bytes = 0
  let written = 0

  /** Takes out what follows from points and epochs. @returns what the manifest says of it */
  function derive(): Pick<ArchivedFile, 'recipes' | 'restored'> {
    if (what === 'metrics') points.add(columns, values)
    if (table === 'epochs') known.add(columns, values)
    if (table !== 'epochs' && table !== 'events' && table !== 'metric_chunks') return { recipes: [] }
    const events = table === 'events' ? deriveEvents(columns, values, known) : undefined
    const restored = digestOf(values.slice(0, of.length))
    if (table === 'epochs') takeOutValues(columns, values, points)
    if (table === 'metric_chunks') takeOutChunks(columns, values, known)
    events?.takeOut()
    return { recipes: events?.recipes ?? [], restored }
  }

  return {
    get full() {
      return (values[0]?.length ?? 0) >= PART_ROWS || bytes >= PART_BYTES
    },
    add(row: readonly Value[]): void {
      for (const [i, value] of row.entries()) {
        values[i]?.push(value)
        bytes += typeof value === 'string' || value instanceof Uint8Array ? value.length : 8
      }
    },
    async flush(): Promise<void> {
      const rows = values[0]?.length ?? 0
      if (rows === 0) return
      const name = `${what}-${String(++written).padStart(5, '0')}.parquet`
      files.push(
        await storeFile(
          { store, location, jobIds },
          { name, what, table, columns: of, extra, values, ...derive() },
        ),
      )
      values = columns.map(() => [])
      bytes = 0
    },
  }
}
