import type { Fragment } from 'postgres'
import { entryOf } from '../../checked.ts'
import type { Db } from '../../db/sql.ts'
import { wideRows } from '../../db/wide-rows.ts'
import { Problem } from '../../problem.ts'
import { type BatchAccess, visibleBatches, visibleProjectsFilter } from '../access.ts'
import { eventSkews } from '../batches/index.ts'
import type { Caller } from '../caller.ts'
import { columnsOf } from '../field.ts'
import { isStorable } from '../storable-text.ts'
import { jobFields } from './job-fields.ts'
import type { JobRow } from './view.ts'

/**
 * The job with this key and its batch, if the caller may see it.
 * @throws Problem job_not_found, the same whether it does not exist or is not visible
 */
export async function visibleJob(
  db: Db,
  caller: Caller,
  key: string,
): Promise<{ job: JobRow; batch: BatchAccess }> {
  const [job] = /^[1-9]\d{0,14}$/.test(key)
    ? await db<
        JobRow[]
      >`/* jobs.read */ select ${jobColumns(db)} from jobs j ${jobJoins(db)} where j.key = ${key}::bigint`
    : []
  const [batch] = await visibleBatches(db, caller, job === undefined ? [] : [job.batch_id])
  if (job === undefined || batch === undefined) throw new Problem('job_not_found')
  return { job, batch }
}

export interface JobName {
  batchId: string
  id: string
}

/** The jobs that the caller may see, with their batches, in no order. */
export async function findJobs(
  db: Db,
  caller: Caller,
  names: readonly JobName[],
): Promise<{ job: JobRow; batch: BatchAccess }[]> {
  const wanted = names.filter((name) => isStorable(name.batchId) && isStorable(name.id))
  const batches = await visibleBatches(db, caller, [...new Set(wanted.map((name) => name.batchId))])
  if (batches.length === 0) return []
  const byId = new Map(batches.map((batch) => [batch.id, batch]))
  const rows = await jobsNamed(
    db,
    wanted.flatMap(({ batchId, id }) => {
      const batch = byId.get(batchId)
      return batch === undefined ? [] : [{ batchKey: batch.key, id }]
    }),
  )
  return rows.map((job) => ({ job, batch: entryOf(byId, job.batch_id) }))
}

/** The jobs with these names that exist, in no order. The permissions were checked before. */
export async function jobsNamed(
  db: Db,
  names: readonly { batchKey: number; id: string }[],
): Promise<JobRow[]> {
  return wideRows(db<JobRow[]>`/* jobs.find */
    select ${jobColumns(db)}
    from unnest(${names.map((name) => name.batchKey)}::bigint[], ${names.map((name) => name.id)}::text[]) as w (batch_key, id)
    join jobs j on j.batch_key = w.batch_key and j.id = w.id ${jobJoins(db)}`)
}

/** The keys of jobs that the caller may see, in the given order; others are left out without an error. */
export async function visibleJobKeys(db: Db, caller: Caller, keys: readonly number[]): Promise<number[]> {
  const rows = await db<{ key: number }[]>`/* jobs.visible_keys */
    select j.key from jobs j join batches b on b.key = j.batch_key join projects p on p.key = b.project_key
    where j.key = any (${[...keys]}::bigint[]) and b.deleted_at is null and ${visibleProjectsFilter(db, caller)}
    order by j.key`
  return rows.map((row) => row.key)
}

/** The jobs with these keys, in no order. The permissions were checked before. */
export const readJobs = (db: Db, keys: number[]): Promise<JobRow[]> =>
  wideRows(db<JobRow[]>`/* jobs.read_many */
    select ${jobColumns(db)} from jobs j ${jobJoins(db)} where j.key = any (${keys}::bigint[])`)

/** Parts of a job that are read only if the caller asks for them: `JobRow` lists the columns of each part. */
export const JOB_PARTS = [
  'traceback',
  'batch',
  'params',
  'metrics',
  'notes',
  'elapsed',
  'progress',
  'best',
  'series',
  'idle',
] as const
export type JobPart = (typeof JOB_PARTS)[number]

/** The columns that the parts add and that are no fields. */
const BESIDE: Partial<Record<JobPart, string>> = {
  batch: 'b.id batch_id',
  elapsed: `j.reported_s, s.last_seen_at, ${eventSkews('bs')}`,
  progress:
    's.epochs, coalesce(s.max_step, s.max_epoch) max_epoch, json_build_array(s.series, s.last_value) last_values',
  best: 'json_build_array(s.series, s.min_value, s.max_value) best_values',
  series: 'to_json(s.series) series',
  idle: `s.gpu_first_at, s.gpu_last_at, s.gpu_busy_at, s.gpu_low_samples, bs.gpu_low_samples batch_gpu_low_samples,
    bs.gpu_first_at batch_gpu_first_at, bs.gpu_last_at batch_gpu_last_at, bs.gpu_busy_at batch_gpu_busy_at`,
}

/** A `JobRow`, of `j` with `jobJoins`; without the columns of the parts that are not named. */
export const jobColumns = (db: Db, parts: readonly JobPart[] = JOB_PARTS): Fragment =>
  db.unsafe(
    [
      'j.key, j.batch_key',
      columnsOf(jobFields, 'j'),
      ...parts.flatMap((part) => [columnsOf(jobFields, 'j', part), BESIDE[part] ?? '']),
    ]
      .filter((columns) => columns !== '')
      .join(', '),
  )

export const jobJoins = (db: Db, parts: readonly JobPart[] = JOB_PARTS): Fragment => {
  const join = (names: JobPart[], table: Fragment): Fragment =>
    names.some((name) => parts.includes(name)) ? table : db``
  return db`
    ${join(['elapsed', 'progress', 'best', 'series', 'idle'], db`join job_progress s on s.job_key = j.key`)}
    ${join(['batch'], db`join batches b on b.key = j.batch_key`)}
    ${join(['elapsed', 'idle'], db`join batch_progress bs on bs.batch_key = j.batch_key`)}`
}
