import type { Db } from '../../db/sql.ts'
import { elapsedS, eventSkews } from '../batches/index.ts'
import { endedAtOf, failureReasonOf } from '../jobs/index.ts'
import { csvRow } from './csv.ts'

const COLUMNS = [
  'job_id',
  'status',
  'model',
  'dataset',
  'started_at',
  'ended_at',
  'elapsed_s',
  'epochs',
  'failure_reason',
] as const
const ROWS_AT_ONCE = 500

interface Row {
  id: string
  status: string
  model: string | null
  dataset: string | null
  started_at: string
  ended_at: string | null
  last_seen_at: string
  event_skews: number[]
  reported_s: number | null
  epochs: number
  failure_reason: string | null
  params: Record<string, unknown>
  metrics: Record<string, unknown>
}

/**
 * One row per job: its identity, parameters and final metrics (contract §4). Sorted by id, not by key, because keys
 * show the order of arrival (§1). Yields parts of a CSV.
 */
export async function* finalMetricsCsv(db: Db, batchKey: number, now: Date): AsyncGenerator<string> {
  const [names] = await db<{ params: string[]; metrics: string[] }[]>`/* export.columns */
    select
      array(select distinct n collate "C" from jobs j, jsonb_object_keys(j.params) n
        where j.batch_key = ${batchKey} order by 1) params,
      array(select distinct n collate "C" from jobs j, jsonb_object_keys(j.metrics) n
        where j.batch_key = ${batchKey} order by 1) metrics`
  const params = names?.params ?? []
  const metrics = names?.metrics ?? []
  // Sent with the first rows: until the first part is sent, a failed read can be repeated on another server.
  let text = csvRow([...COLUMNS, ...params.map((n) => `param.${n}`), ...metrics.map((n) => `metric.${n}`)])
  let after = ''
  for (;;) {
    const rows = await db<Row[]>`/* export.jobs */
      select j.id, j.status, j.model, j.dataset, j.started_at, j.ended_at, p.last_seen_at, ${db.unsafe(eventSkews('g'))} event_skews, j.reported_s,
        p.epochs, j.failure_reason, j.params, j.metrics
      from jobs j join job_progress p on p.job_key = j.key join batch_progress g on g.batch_key = j.batch_key
      where j.batch_key = ${batchKey} and j.id > ${after} order by j.id limit ${ROWS_AT_ONCE}`
    for (const job of rows) {
      text += csvRow([
        job.id,
        job.status,
        job.model,
        job.dataset,
        job.started_at,
        endedAtOf(job),
        job.reported_s ?? elapsedS(job, now),
        job.epochs,
        failureReasonOf(job),
        ...params.map((name) => own(job.params, name)),
        ...metrics.map((name) => own(job.metrics, name)),
      ])
    }
    if (text !== '') yield text
    text = ''
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_AT_ONCE) return
    after = last.id
  }
}

/** `constructor` is an ordinary name here. */
const own = (fields: Record<string, unknown>, name: string): unknown =>
  Object.hasOwn(fields, name) ? fields[name] : undefined
