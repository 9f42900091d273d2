import type { Db } from '../../db/sql.ts'
import { warm } from '../warm.ts'

/** The times of a job's epochs, to place its log lines among them. Columns of equal length. */
export interface EpochTimes {
  epochs: number[]
  times: string[]
}

/** The most epochs in one answer; of more, every nth and the last, so a line is placed to within n. */
const MOST = 5_000

export async function epochTimesOf(db: Db, job: { key: number; batch_key: number }): Promise<EpochTimes> {
  await warm(db, { jobs: [job.key] })
  const rows = await db<{ epoch: number; ts: string }[]>`/* log_lines.epoch_times */
    select epoch, ts from (
      select epoch_high * 4294967296 + epoch epoch, ts, row_number() over (order by epoch_high, epoch) n, count(*) over () total from epochs
      where batch_key = ${job.batch_key} and job_key = ${job.key}) e
    where (total - n) % ceil(total::numeric / ${MOST})::bigint = 0
    order by epoch`
  return { epochs: rows.map((row) => row.epoch), times: rows.map((row) => row.ts) }
}
