import { instantOf } from '../../db/instant.ts'
import { columnName, readColumns, TIMES } from '../metrics/index.ts'
import type { Telemetry } from '../telemetry.ts'

/** The times of a job's epochs, to place its log lines among them. Columns of equal length. */
export interface EpochTimes {
  epochs: number[]
  times: string[]
}

/** The most epochs in one answer; of more, every nth and the last, so a line is placed to within n. */
const MOST = 5_000

/** @returns those of each of these jobs, by key; to the millisecond, as charts have them */
export async function epochTimesOf(
  db: Telemetry,
  jobs: readonly { key: number; batch_key: number }[],
): Promise<Map<number, EpochTimes>> {
  const columns = await readColumns(
    db,
    jobs.map((job) => ({ batchKey: job.batch_key, jobKey: job.key, no: TIMES })),
  )
  return new Map(
    jobs.map(({ key }): [number, EpochTimes] => {
      const found: EpochTimes = { epochs: [], times: [] }
      const column = columns.get(columnName(key, TIMES))
      if (column === undefined) return [key, found]
      const { steps, values } = column
      const step = Math.ceil(steps.length / MOST)
      for (let i = (steps.length - 1) % step; i < steps.length; i += step) {
        found.epochs.push(steps[i] as number)
        found.times.push(instantOf(new Date(values[i] as number)))
      }
      return [key, found]
    }),
  )
}
