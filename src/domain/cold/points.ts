import { lowerBound } from '../metrics/index.ts'
import { type Column, type Columns, columnsAt, stepsAt, type Vals } from './columns.ts'

/**
 * The archive has the value of a point once, in `metrics`, where notebooks read it. Of the rows of `epochs` it leaves out the
 * values that the points have to the bit.
 */

/** Points that are held for this at most, of 16 bytes each. Epochs with later ones then stay as they are. */
const MAX_POINTS = 2_000_000

/** The jobs of a manifest. */
type Jobs = readonly { key: number; id: string; series: readonly string[] }[]

/** Points of a batch, by job, series and step. */
export interface Points {
  /** Rows of `metrics`, in the order of their jobs, series and steps. */
  add(columns: readonly Column[], values: Columns): void
  /** The values of an epoch, in the order of the job's series. */
  of(jobKey: number, step: number): Vals
}

export function createPoints(jobs: Jobs): Points {
  const byId = new Map(
    jobs.map(({ key, id, series }) => [id, { key, numbers: new Map(series.map((name, no) => [name, no])) }]),
  )
  const byKey = new Map<number, ({ steps: number[]; values: number[] } | undefined)[]>()
  let held = 0
  return {
    add(columns, values) {
      const at = columnsAt(columns, values)
      const [names, steps, points] = [at('metric'), at('step'), at('value')]
      for (const [i, id] of at('job_id').entries()) {
        const job = byId.get(id as string)
        const no = job?.numbers.get(names[i] as string)
        if (job === undefined || no === undefined) continue
        if (held >= MAX_POINTS) return
        const all = byKey.get(job.key) ?? []
        byKey.set(job.key, all)
        const series = all[no] ?? { steps: [], values: [] }
        all[no] = series
        // Of a very long job the first epochs are complete.
        if (series.steps.length >= MAX_POINTS / job.numbers.size) continue
        held++
        series.steps.push(steps[i] as number)
        series.values.push(points[i] as number)
      }
    },
    of(jobKey, step) {
      const vals: Vals = []
      for (const [no, series] of (byKey.get(jobKey) ?? []).entries()) {
        if (series === undefined) continue
        const place = lowerBound(series.steps, step)
        if (series.steps[place] !== step) continue
        while (vals.length < no) vals.push(null)
        vals.push(series.values[place] as number)
      }
      return vals
    },
  }
}

/** Takes the values out of rows of `epochs`, to be called once a digest of them was made. */
export function takeOutValues(columns: readonly Column[], values: Columns, points: Points): void {
  const at = columnsAt(columns, values)
  const [keys, vals, stepOf] = [at('job_key'), at('vals'), stepsAt(at, 'epoch_high', 'epoch')]
  for (const [i, own] of vals.entries()) {
    const made = points.of(keys[i] as number, stepOf(i))
    if (made.length === (own as Vals).length && made.every((value, n) => Object.is(value, (own as Vals)[n])))
      vals[i] = null
  }
}

export function restoreValues(columns: readonly Column[], values: Columns, points: Points): void {
  const at = columnsAt(columns, values)
  const [keys, vals, stepOf] = [at('job_key'), at('vals'), stepsAt(at, 'epoch_high', 'epoch')]
  for (const [i, own] of vals.entries()) vals[i] = own ?? points.of(keys[i] as number, stepOf(i))
}
