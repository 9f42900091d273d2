import { Problem } from '../../problem.ts'
import type { Telemetry } from '../telemetry.ts'
import { commonPlaces } from './formula-series.ts'
import { type JobSeries, type ReadOptions, readSeries } from './read-series.ts'

/** The most points of the series that is subtracted: 16 bytes each. */
const MAX_POINTS = 2_000_000

/**
 * Series minus that of one job: of each the steps that both have. Nothing if that job does not have the series.
 * @param baseline the key of the job whose series is subtracted; the permissions were checked before
 * @throws Problem too_many_points
 */
export async function* minusJob(
  db: Telemetry,
  baseline: number,
  key: string,
  series: AsyncIterable<JobSeries>,
  range: Pick<ReadOptions, 'from' | 'to'> = {},
): AsyncGenerator<JobSeries> {
  const other = await wholeSeries(db, baseline, key, range)
  if (other === undefined) return
  for await (const one of series) {
    const [own = NONE, theirs = NONE] = commonPlaces([one.steps, other.steps])
    if (own.length === 0) continue
    const at = (column: Float64Array): Float64Array =>
      Float64Array.from(own, (place) => column[place] ?? Number.NaN)
    const values = at(one.values)
    for (let i = 0; i < values.length; i++)
      values[i] = (values[i] ?? Number.NaN) - (other.values[theirs[i] ?? 0] ?? Number.NaN)
    yield {
      ...one,
      steps: at(one.steps),
      values,
      ...(one.times && { times: at(one.times) }),
      ...(one.beside && { beside: at(one.beside) }),
    }
  }
}
const NONE = new Uint32Array()

async function wholeSeries(
  db: Telemetry,
  job: number,
  key: string,
  range: Pick<ReadOptions, 'from' | 'to'>,
): Promise<{ steps: Float64Array; values: Float64Array } | undefined> {
  for await (const { steps, values } of readSeries(db, [job], { keys: [key], ...range })) {
    if (steps.length > MAX_POINTS)
      throw new Problem('too_many_points', {
        detail: `A difference reads at most ${MAX_POINTS.toLocaleString('en')} points of a job`,
      })
    return { steps: steps.slice(), values: values.slice() }
  }
  return undefined
}
