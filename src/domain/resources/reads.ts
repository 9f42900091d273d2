import { isDistributed } from '../../db/sql.ts'
import { numberOf } from '../events/index.ts'
import { isStorable } from '../storable-text.ts'
import type { Telemetry } from '../telemetry.ts'

export interface ResourceQuery {
  /** Names of series; undefined: all. */
  keys?: readonly string[] | undefined
  /** Unix seconds, both included whole. */
  from?: number | undefined
  to?: number | undefined
}

/** One field of the snapshots of one job, or of the batch itself, over time. */
export interface ResourceSeries {
  jobId: string | null
  /** A field of the snapshot; of one GPU `gpus/<its uuid or index>/<field>`, with its index where the uuid names it. */
  key: string
  /** Whole Unix seconds, never decreasing. */
  steps: Float64Array
  values: Float64Array
  /** The exact times, as text. */
  timestamps: string[]
}

interface Row {
  batch_key: number
  ts: string
  job_key: number | null
  gpu_util_pct: number | null
  gpu_mem_mb: number | null
  cpu_util_pct: number | null
  ram_mb: number | null
  disk_free_mb: number | null
  gpus: Record<string, unknown>[] | null
  extra: Record<string, string> | null
}

const COLUMNS = ['gpu_util_pct', 'gpu_mem_mb', 'cpu_util_pct', 'ram_mb', 'disk_free_mb'] as const
const ROWS_AT_ONCE = 2_000

/** Where series belong; 0: to no job. */
interface Placed {
  batchKey: number
  jobKey: number
}
interface Growing extends Placed {
  key: string
  steps: number[]
  values: number[]
  timestamps: string[]
}

/** The resource snapshots of a batch as series: first those without a job, then by job and name (contract §4). */
export async function readResources(
  db: Telemetry,
  batchKey: number,
  { jobs, ...query }: ResourceQuery & { jobs?: readonly string[] | undefined },
): Promise<ResourceSeries[]> {
  const found = await resourcesOfBatches(db, [batchKey], { ...query, jobs })
  return found.get(batchKey) ?? []
}

/** The same of several batches. @param jobs ids; without them also the snapshots that belong to no job */
export async function resourcesOfBatches(
  db: Telemetry,
  batchKeys: readonly number[],
  { jobs, ...query }: ResourceQuery & { jobs?: readonly string[] | undefined },
): Promise<Map<number, ResourceSeries[]>> {
  const ids = jobs?.filter(isStorable)
  const only =
    ids &&
    (await db<{ key: number }[]>`/* resources.jobs */
      select key from jobs where batch_key = any (${[...batchKeys]}::bigint[]) and id = any (${ids}::text[])`)
  const series = await readSeries(
    db,
    batchKeys,
    only?.map(({ key }) => key),
    query,
  )
  return grouped(series, ({ batchKey }) => batchKey)
}

/** The snapshots of these jobs as series, by name, by the key of the job. */
export async function resourcesOfJobs(
  db: Telemetry,
  jobs: readonly { key: number; batch_key: number }[],
  query: ResourceQuery,
): Promise<Map<number, ResourceSeries[]>> {
  const batches = [...new Set(jobs.map((job) => job.batch_key))]
  const keys = jobs.map(({ key }) => key)
  return grouped(await readSeries(db, batches, keys, query), ({ jobKey }) => jobKey)
}

function grouped(
  series: readonly (Placed & ResourceSeries)[],
  by: (place: Placed) => number,
): Map<number, ResourceSeries[]> {
  const found = new Map<number, ResourceSeries[]>()
  for (const { batchKey, jobKey, ...one } of series) {
    const key = by({ batchKey, jobKey })
    const list = found.get(key)
    if (list === undefined) found.set(key, [one])
    else list.push(one)
  }
  return found
}

/** In one statement; on a cluster in one for each batch, which is sent to its worker alone. */
async function readSeries(
  db: Telemetry,
  batchKeys: readonly number[],
  jobKeys: readonly number[] | undefined,
  { keys, from, to }: ResourceQuery,
): Promise<(Placed & ResourceSeries)[]> {
  const streams = createStreams(keys && new Set(keys))
  await db.restore({ batches: batchKeys }, 'kept')
  const together = isDistributed(db)
    ? batchKeys.map((key) => db`= ${key}`)
    : [db`= any (${[...batchKeys]}::bigint[])`]
  for (const isBatch of together) {
    const rows = db<Row[]>`/* resources.read */
      select s.batch_key, s.ts, s.job_key, s.gpu_util_pct, s.gpu_mem_mb, s.cpu_util_pct, s.ram_mb, s.disk_free_mb,
        s.gpus, s.extra
      from resource_snapshots s
      where s.batch_key ${isBatch}
        ${jobKeys === undefined ? db`` : db`and s.job_key = any (${[...jobKeys]}::bigint[])`}
        ${from === undefined ? db`` : db`and s.ts >= to_timestamp(${from})`}
        ${to === undefined ? db`` : db`and s.ts < to_timestamp(${to + 1})`}
      order by s.batch_key, s.ts, s.db_id`
    for await (const some of rows.cursor(ROWS_AT_ONCE)) for (const row of some) streams.add(row)
  }
  const found = streams.all()
  const named = await db<{ key: number; id: string }[]>`/* resources.job_ids */
    select key, id from jobs where key = any (${[...new Set(found.flatMap(({ jobKey }) => jobKey || []))]}::bigint[])`
  const idOf = new Map(named.map((job) => [job.key, job.id]))
  return found
    .sort((a, b) => a.jobKey - b.jobKey || (a.key < b.key ? -1 : 1))
    .map(({ steps, values, ...one }) => ({
      ...one,
      jobId: idOf.get(one.jobKey) ?? null,
      steps: Float64Array.from(steps),
      values: Float64Array.from(values),
    }))
}

/** Collects snapshots as series. */
function createStreams(wanted: ReadonlySet<string> | undefined) {
  const streams = new Map<string, Map<string, Growing>>()
  function put(row: Row, key: string, value: number | undefined | null): void {
    if (value === undefined || value === null || wanted?.has(key) === false) return
    const place = { batchKey: row.batch_key, jobKey: row.job_key ?? 0 }
    const name = `${place.batchKey} ${place.jobKey}`
    let stream = streams.get(name)
    if (stream === undefined) {
      stream = new Map()
      streams.set(name, stream)
    }
    let series = stream.get(key)
    if (series === undefined) {
      series = { ...place, key, steps: [], values: [], timestamps: [] }
      stream.set(key, series)
    }
    series.steps.push(Math.floor(Date.parse(row.ts) / 1000))
    series.values.push(value)
    series.timestamps.push(row.ts)
  }
  return {
    add(row: Row): void {
      for (const column of COLUMNS) put(row, column, row[column])
      for (const [key, value] of Object.entries(row.extra ?? {})) put(row, key, Number(value))
      for (const [position, gpu] of (row.gpus ?? []).entries()) addGpu(row, gpu, position, put)
    },
    all: () => [...streams.values()].flatMap((stream) => [...stream.values()]),
  }
}

function addGpu(
  row: Row,
  gpu: Record<string, unknown>,
  position: number,
  add: (row: Row, key: string, value: number | undefined) => void,
): void {
  const byUuid = typeof gpu.uuid === 'string'
  const name = byUuid ? gpu.uuid : String(numberOf(gpu.index) ?? position)
  for (const [field, value] of Object.entries(gpu)) {
    if (field !== 'uuid' && (byUuid || field !== 'index')) add(row, `gpus/${name}/${field}`, numberOf(value))
  }
}
