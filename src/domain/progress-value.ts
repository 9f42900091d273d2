import type { Fragment } from 'postgres'
import type { Db } from '../db/sql.ts'

/** SQL for values of a batch or job that are in its row of progress, `fp`, over its own row. */

const PROGRESS = {
  batch: (db: Db, row: Fragment, value: Fragment): Fragment =>
    db`(select ${value} from batch_progress fp where fp.batch_key = ${row}.key)`,
  job: (db: Db, row: Fragment, value: Fragment): Fragment =>
    db`(select ${value} from job_progress fp where fp.job_key = ${row}.key)`,
}

export const progressValue =
  (of: 'batch' | 'job', value: (db: Db, row: Fragment) => Fragment) =>
  (db: Db, row: Fragment): Fragment =>
    PROGRESS[of](db, row, value(db, row))

/** The seconds that it runs or ran, unless its reporter said how many. */
export const elapsedValue = (of: 'batch' | 'job', reported: (db: Db, row: Fragment) => Fragment) => {
  const measured = progressValue(
    of,
    (db, row) => db`greatest(0, extract(epoch from
      case ${row}.status when 'running' then now() else fp.last_seen_at end - ${row}.started_at))::float8`,
  )
  return (db: Db, row: Fragment): Fragment => db`coalesce(${reported(db, row)}, ${measured(db, row)})`
}
