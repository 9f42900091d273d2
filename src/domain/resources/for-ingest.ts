import { type SqlFragment, sqlFragment } from '../../db/sql-fragment.ts'
import { numberOf } from '../events/index.ts'
import { gpuUtilisation, type SnapshotData } from './gpu.ts'

export interface NewSnapshot {
  batchKey: number
  jobKey: number | null
  dbId: number
  at: string
  data: SnapshotData & Record<string, unknown>
}

/** The fields of one snapshot under one spelling (contract §1): five columns, every other number in `extra`. */
export function snapshotValues(data: NewSnapshot['data']): {
  columns: Map<string, number>
  extra: Map<string, number>
} {
  const columns = new Map<string, number>()
  const extra = new Map<string, number>()
  const put = (name: string, value: number | undefined) => value !== undefined && columns.set(name, value)
  put('gpu_util_pct', gpuUtilisation(data))
  put('gpu_mem_mb', numberOf(data.gpu_mem_mb))
  put('cpu_util_pct', numberOf(data.cpu_util_pct) ?? numberOf(data.cpu_pct))
  put('ram_mb', numberOf(data.ram_mb) ?? numberOf(data.rss_mb))
  put('disk_free_mb', numberOf(data.disk_free_mb))
  for (const [name, value] of Object.entries(data)) {
    const number = numberOf(value)
    if (number !== undefined && !KNOWN.has(name)) extra.set(name, number)
  }
  return { columns, extra }
}

const KNOWN = new Set([
  'gpu_util_pct',
  'gpu_mem_mb',
  'cpu_util_pct',
  'cpu_pct',
  'ram_mb',
  'rss_mb',
  'disk_free_mb',
])

export function insertSnapshots(snapshots: NewSnapshot[]): SqlFragment {
  const rows = snapshots.map((s) => {
    const { columns, extra } = snapshotValues(s.data)
    const text = (name: string): string | null => (columns.has(name) ? String(columns.get(name)) : null)
    return {
      batch_key: s.batchKey,
      db_id: s.dbId,
      job_key: s.jobKey,
      ts: s.at,
      gpu_util_pct: text('gpu_util_pct'),
      gpu_mem_mb: text('gpu_mem_mb'),
      cpu_util_pct: text('cpu_util_pct'),
      ram_mb: text('ram_mb'),
      disk_free_mb: text('disk_free_mb'),
      gpus: s.data.gpus ?? null,
      extra:
        extra.size === 0
          ? null
          : Object.fromEntries([...extra].map(([name, value]) => [name, String(value)])),
    }
  })
  return sqlFragment`
    insert into resource_snapshots
      (batch_key, db_id, job_key, ts, gpu_util_pct, gpu_mem_mb, cpu_util_pct, ram_mb, disk_free_mb, gpus, extra)
    select * from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as x (
      batch_key bigint, db_id bigint, job_key bigint, ts timestamptz, gpu_util_pct float8, gpu_mem_mb float8,
      cpu_util_pct float8, ram_mb float8, disk_free_mb float8, gpus jsonb, extra jsonb)`
}
