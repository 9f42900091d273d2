import type { Db } from '../../db/sql.ts'
import { numberOf } from '../events/index.ts'
import { isStorable } from '../storable-text.ts'
import { warm } from '../warm.ts'

export interface ResourceQuery {
  /** Names of series; undefined: all. */
  keys?: readonly string[] | undefined
  /** Ids of jobs; without it also the snapshots that belong to no job. */
  jobs?: readonly string[] | undefined
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

interface Growing {
  jobKey: number
  key: string
  steps: number[]
  values: number[]
  timestamps: string[]
}

/** The resource snapshots of a batch as series: first those without a job, then by job and name (contract §4). */
export async function readResources(
  db: Db,
  batchKey: number,
  query: ResourceQuery,
): Promise<ResourceSeries[]> {
  const { keys, jobs, from, to } = query
  const wanted = keys && new Set(keys)
  const streams = new Map<number, Map<string, Growing>>()
  const add = (row: Row, key: string, value: number | undefined | null): void => {
    if (value === undefined || value === null || wanted?.has(key) === false) return
    const jobKey = row.job_key ?? 0
    let stream = streams.get(jobKey)
    if (stream === undefined) {
      stream = new Map()
      streams.set(jobKey, stream)
    }
    let series = stream.get(key)
    if (series === undefined) {
      series = { jobKey, key, steps: [], values: [], timestamps: [] }
      stream.set(key, series)
    }
    series.steps.push(Math.floor(Date.parse(row.ts) / 1000))
    series.values.push(value)
    series.timestamps.push(row.ts)
  }
  await warm(db, { batches: [batchKey] })
  const ids = jobs?.filter(isStorable)
  const only =
    ids &&
    (await db<{ key: number }[]>`/* resources.jobs */
      select key from jobs where batch_key = ${batchKey} and id = any (${ids}::text[])`)
  const rows = db<Row[]>`/* resources.read */
    select s.ts, s.job_key, s.gpu_util_pct, s.gpu_mem_mb, s.cpu_util_pct, s.ram_mb, s.disk_free_mb,
      s.gpus, s.extra
    from resource_snapshots s
    where s.batch_key = ${batchKey}
      ${only === undefined ? db`` : db`and s.job_key = any (${only.map((job) => job.key)}::bigint[])`}
      ${from === undefined ? db`` : db`and s.ts >= to_timestamp(${from})`}
      ${to === undefined ? db`` : db`and s.ts < to_timestamp(${to + 1})`}
    order by s.ts, s.db_id`
  for await (const some of rows.cursor(ROWS_AT_ONCE)) {
    for (const row of some) {
      for (const column of COLUMNS) add(row, column, row[column])
      for (const [key, value] of Object.entries(row.extra ?? {})) add(row, key, Number(value))
      for (const [position, gpu] of (row.gpus ?? []).entries()) addGpu(row, gpu, position, add)
    }
  }
  const found = [...streams.keys()].filter((key) => key !== 0)
  const named = await db<{ key: number; id: string }[]>`/* resources.job_ids */
    select key, id from jobs where key = any (${found}::bigint[])`
  const idOf = new Map(named.map((job) => [job.key, job.id]))
  return [...streams.values()]
    .flatMap((stream) => [...stream.values()])
    .sort((a, b) => a.jobKey - b.jobKey || (a.key < b.key ? -1 : 1))
    .map(({ jobKey, key, steps, values, timestamps }) => ({
      jobId: idOf.get(jobKey) ?? null,
      key,
      steps: Float64Array.from(steps),
      values: Float64Array.from(values),
      timestamps,
    }))
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
