import type { Db } from '../../db/sql.ts'
import { numberOf } from '../events/index.ts'
import { isStorable } from '../storable-text.ts'

export interface ResourceQuery {
  /** Names of series; every one when undefined. */
  keys?: readonly string[] | undefined
  /** Ids of jobs; without it also the snapshots that belong to no job. */
  jobs?: readonly string[] | undefined
  /** Unix seconds, both included whole. */
  from?: number | undefined
  to?: number | undefined
}

/** One measure of one job, or of the batch itself, over time. */
export interface ResourceSeries {
  jobId: string | null
  /** A field of the snapshot; of one GPU `gpus/<its uuid or index>/<field>`. */
  key: string
  /** Whole Unix seconds, never decreasing. */
  steps: Float64Array
  values: Float64Array
  /** The exact times as text. */
  timestamps: string[]
}

interface Row {
  ts: string
  job_key: number | null
  job_id: string | null
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
  jobId: string | null
  key: string
  steps: number[]
  values: number[]
  timestamps: string[]
}

/** The resource snapshots of a batch as series: those of no job first, then job by job, by name (contract §4). */
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
      series = { jobKey, jobId: row.job_id, key, steps: [], values: [], timestamps: [] }
      stream.set(key, series)
    }
    series.steps.push(Math.floor(Date.parse(row.ts) / 1000))
    series.values.push(value)
    series.timestamps.push(row.ts)
  }
  const ids = jobs?.filter(isStorable)
  const rows = db<Row[]>`/* resources.read */
    select s.ts, s.job_key, j.id job_id, s.gpu_util_pct, s.gpu_mem_mb, s.cpu_util_pct, s.ram_mb, s.disk_free_mb,
      s.gpus, s.extra
    from resource_snapshots s left join jobs j on j.key = s.job_key
    where s.batch_key = ${batchKey}
      ${ids === undefined ? db`` : db`and j.id = any (${ids}::text[])`}
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
  return [...streams.values()]
    .flatMap((stream) => [...stream.values()])
    .sort((a, b) => a.jobKey - b.jobKey || (a.key < b.key ? -1 : 1))
    .map(({ jobId, key, steps, values, timestamps }) => ({
      jobId,
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
  const name = typeof gpu.uuid === 'string' ? gpu.uuid : String(numberOf(gpu.index) ?? position)
  for (const [field, value] of Object.entries(gpu)) {
    if (field !== 'index' && field !== 'uuid') add(row, `gpus/${name}/${field}`, numberOf(value))
  }
}
