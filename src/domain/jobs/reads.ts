import type { Fragment } from 'postgres'
import { entryOf } from '../../checked.ts'
import type { PrismaClient } from '../../db/prisma.ts'
import type { Db } from '../../db/sql.ts'
import { wideRows } from '../../db/wide-rows.ts'
import { Problem } from '../../problem.ts'
import { type BatchAccess, visibleBatches, visibleProjectsFilter } from '../access.ts'
import type { Caller } from '../caller.ts'
import { columnsOf } from '../field.ts'
import { besideColumns, type RecordRows, recordRows } from '../record-rows.ts'
import { isStorable } from '../storable-text.ts'
import { jobFields } from './job-fields.ts'
import { besideJob } from './job-row.ts'
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
  const { wanted, byId } = await visibleNames(db, caller, names)
  if (wanted.length === 0) return []
  const rows = await wideRows(db<JobRow[]>`/* jobs.find */
    select ${jobColumns(db)} from ${namedJobs(db, wanted)} ${jobJoins(db)}`)
  return rows.map((job) => ({ job, batch: entryOf(byId, job.batch_id) }))
}

/** The keys of these jobs, of those that the caller may see. */
export async function visibleKeysOf(db: Db, caller: Caller, names: readonly JobName[]): Promise<number[]> {
  return keysNamed(db, (await visibleNames(db, caller, names)).wanted)
}

/** The keys of the jobs with these names that exist, in no order. The permissions were checked before. */
export async function keysNamed(
  db: Db,
  names: readonly { batchKey: number; id: string }[],
): Promise<number[]> {
  if (names.length === 0) return []
  const rows = await db<{ key: number }[]>`/* jobs.keys_named */ select j.key from ${namedJobs(db, names)}`
  return rows.map(({ key }) => key)
}

async function visibleNames(db: Db, caller: Caller, names: readonly JobName[]) {
  const storable = names.filter((name) => isStorable(name.batchId) && isStorable(name.id))
  const batches = await visibleBatches(db, caller, [...new Set(storable.map((name) => name.batchId))])
  const byId = new Map(batches.map((batch) => [batch.id, batch]))
  const wanted = storable.flatMap(({ batchId, id }) => {
    const batch = byId.get(batchId)
    return batch === undefined ? [] : [{ batchKey: batch.key, id }]
  })
  return { wanted, byId }
}

const namedJobs = (db: Db, names: readonly { batchKey: number; id: string }[]): Fragment => db`
  unnest(${names.map((name) => name.batchKey)}::bigint[], ${names.map((name) => name.id)}::text[]) as w (batch_key, id)
  join jobs j on j.batch_key = w.batch_key and j.id = w.id`

/** How the records of jobs are read, by the parts that are. */
const readers = new Map<string, RecordRows<JobRow>>()

/**
 * The rows of these jobs through Prisma, with what the parts need of their batches and progress, in one statement; in no
 * order. The permissions were checked before.
 */
export async function jobRecords(
  prisma: PrismaClient,
  keys: readonly number[],
  parts: readonly JobPart[] = JOB_PARTS,
): Promise<JobRow[]> {
  if (keys.length === 0) return []
  const named = parts.join()
  // As many as there are combinations of fields that clients ask for.
  if (readers.size >= MAX_READERS) readers.clear()
  const { select, rowOf } = readers.get(named) ?? recordRows<JobRow>(jobFields, besideJob, parts)
  readers.set(named, { select, rowOf })
  const found = await prisma.job.findMany({
    where: { key: { in: [...keys] } },
    relationLoadStrategy: 'join',
    select,
  })
  return found.map(rowOf)
}
const MAX_READERS = 100

/** The keys of jobs that the caller may see, in the given order; others are left out without an error. */
export async function visibleJobKeys(db: Db, caller: Caller, keys: readonly number[]): Promise<number[]> {
  const rows = await db<{ key: number }[]>`/* jobs.visible_keys */
    select j.key from jobs j join batches b on b.key = j.batch_key join projects p on p.key = b.project_key
    where j.key = any (${[...keys]}::bigint[]) and b.deleted_at is null and ${visibleProjectsFilter(db, caller)}
    order by j.key`
  return rows.map((row) => row.key)
}

/** The ids of the batches of these jobs, by their keys. */
export async function batchesOfJobs(db: Db, jobKeys: readonly number[]): Promise<Map<number, string>> {
  const rows = await db<{ key: number; id: string }[]>`/* jobs.batches_of */
    select key, id from batches where key in (select batch_key from jobs where key = any (${[...jobKeys]}::bigint[]))`
  return new Map(rows.map(({ key, id }) => [key, id]))
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

/** A `JobRow`, of `j` with `jobJoins`; without the columns of the parts that are not named. */
export const jobColumns = (db: Db, parts: readonly JobPart[] = JOB_PARTS): Fragment =>
  db.unsafe(
    [
      besideColumns(besideJob),
      columnsOf(jobFields, 'j'),
      ...parts.flatMap((part) => [columnsOf(jobFields, 'j', part), besideColumns(besideJob, part)]),
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
