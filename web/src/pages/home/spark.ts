import type { Numeric } from '../../lib/api/wire-row.ts'
import { LOSSES } from '../../lib/main-series.ts'

/** The loss of one job. */
export interface Spark {
  job: string
  key: string
  curve: Curve
  /** The points of other jobs since this job's last one. */
  others?: ReadonlyMap<string, Curve>
}
export interface Curve {
  steps: readonly number[]
  values: readonly number[]
}
interface Arrived {
  job_id: string
  epoch: number
  values: Record<string, Numeric>
}

/** Twice as many points are thinned to this many. */
export const MAX_POINTS = 96
/** Another job that reports this often while this one is silent takes its place: jobs in parallel report in turns. */
const TURNS = 3
const MAX_OTHERS = 50
const NOTHING: Curve = { steps: [], values: [] }

/** The curve with points that arrived. It stays with its job until the job is silent while another one reports. */
export function withPoints(spark: Spark | null, points: readonly Arrived[]): Spark | null {
  let now = spark
  for (const { job_id: job, epoch, values } of points) {
    const key = now?.key ?? LOSSES.find((one) => values[one] !== undefined)
    const value = key === undefined ? undefined : values[key]
    if (key === undefined || value === undefined) continue
    const before = now === null || now.job === job ? now?.curve : now.others?.get(job)
    const curve = longer(before ?? NOTHING, epoch, Number(value))
    if (now === null || now.job === job || curve.steps.length >= TURNS) now = { job, key, curve }
    else if ((now.others?.size ?? 0) < MAX_OTHERS)
      now = { ...now, others: new Map(now.others).set(job, curve) }
  }
  return now
}

/** The curve with one more point. A job that begins again continues from there. */
function longer(curve: Curve, step: number, value: number): Curve {
  const end = curve.steps.findIndex((one) => one >= step)
  const [steps, values] = [
    [...curve.steps.slice(0, end < 0 ? undefined : end), step],
    [...curve.values.slice(0, end < 0 ? undefined : end), value],
  ]
  return steps.length > 2 * MAX_POINTS ? thinned({ steps, values }) : { steps, values }
}

/** The first point, and the last of each equal part of the steps. */
function thinned({ steps, values }: Curve): Curve {
  const [first = 0, last = 0] = [steps[0], steps.at(-1)]
  const partOf = (step: number | undefined): number =>
    step === undefined ? -1 : Math.ceil(((step - first) / (last - first)) * (MAX_POINTS - 1))
  const kept = steps.flatMap((step, i) => (partOf(step) !== partOf(steps[i + 1]) ? [i] : []))
  return { steps: kept.map((i) => steps[i] ?? 0), values: kept.map((i) => values[i] ?? Number.NaN) }
}
