import { entryOf } from '../../checked.ts'
import { byBatch } from '../../db/by-batch.ts'
import type { Db } from '../../db/sql.ts'
import { warm } from '../warm.ts'

/** The times of a job's epochs, to place its log lines among them. Columns of equal length. */
export interface EpochTimes {
  epochs: number[]
  times: string[]
}

/** The most epochs in one answer; of more, every nth and the last, so a line is placed to within n. */
const MOST = 5_000

/** @returns those of each of these jobs, by key */
export async function epochTimesOf(
  db: Db,
  jobs: readonly { key: number; batch_key: number }[],
): Promise<Map<number, EpochTimes>> {
  await warm(db, { jobs: jobs.map(({ key }) => key) })
  const places = jobs.map((job) => ({ batchKey: job.batch_key, jobKey: job.key }))
  const rows = await byBatch(
    db,
    places,
    (own, batch) => db<{ key: number; epoch: number; ts: string }[]>`/* log_lines.epoch_times */
      select u.job_key key, e.epoch, e.ts
      from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.jobKey)}::bigint[]) as u (batch_key, job_key)
      cross join lateral (
        select epoch, ts from (
          select epoch_high * 4294967296 + epoch epoch, ts, row_number() over (order by epoch_high, epoch) n, count(*) over () total
          from epochs where batch_key = ${batch} and job_key = u.job_key) e
        where (total - n) % ceil(total::numeric / ${MOST})::bigint = 0) e
      order by u.job_key, e.epoch`,
  )
  const found = new Map<number, EpochTimes>(jobs.map(({ key }) => [key, { epochs: [], times: [] }]))
  for (const { key, epoch, ts } of rows) {
    const times = entryOf(found, key)
    times.epochs.push(epoch)
    times.times.push(ts)
  }
  return found
}
