import { itemAt, keysOf } from '../../checked.ts'
import { elapsedS } from '../batches/index.ts'
import { writeNumber } from '../events/index.ts'
import { type Derived, viewsOf } from '../field.ts'
import { type Clock, isIdle } from '../liveness.ts'
import { lessIsBetter } from '../metric-goal.ts'
import { endedAtOf, failureReasonOf, type JobColumns, type JobView, jobFields } from './job-fields.ts'

/**
 * The row of a job, as `jobColumns` reads it: its columns (those of parts if selected), and the input of other fields.
 */
export interface JobRow extends JobColumns {
  key: number
  batch_key: number
  /** Part `batch`. */
  batch_id: string
  /** Part `elapsed`. */
  reported_s: number | null
  last_seen_at: string
  event_skews: number[]
  /** Part `progress`. */
  epochs: number
  max_epoch: number | null
  /** The names of its series, and the last value of each, as JSON text, which takes half the time to read. */
  last_values: [names: string[], values: (number | string | null)[]]
  /** Part `best`: the names of its series, and the minimum and maximum of each, as JSON text. */
  best_values: [names: string[], min: (number | string | null)[], max: (number | string | null)[]]
  /** Part `series`. */
  series: string[]
  /** Part `idle`. */
  gpu_first_at: string | null
  gpu_last_at: string | null
  gpu_busy_at: string | null
  gpu_low_samples: number
  batch_gpu_first_at: string | null
  batch_gpu_last_at: string | null
  batch_gpu_busy_at: string | null
  batch_gpu_low_samples: number
}

type Given = [row: JobRow, clock: Clock, extras: { etaS: number | null }]

const elapsedOf = (row: JobRow, clock: Clock): number | string =>
  row.reported_s === null ? elapsedS(row, clock.now) : writeNumber(row.reported_s)

const idleOf = (row: JobRow, clock: Clock): boolean =>
  row.status === 'running' &&
  isIdle(
    {
      status: row.status,
      startedAt: row.started_at,
      gpu: {
        firstAt: row.gpu_first_at,
        lastAt: row.gpu_last_at,
        busyAt: row.gpu_busy_at,
        lowSamples: row.gpu_low_samples,
      },
    },
    {
      firstAt: row.batch_gpu_first_at,
      lastAt: row.batch_gpu_last_at,
      busyAt: row.batch_gpu_busy_at,
      lowSamples: row.batch_gpu_low_samples,
    },
    clock,
  )

/** The highest epoch, and each series' last value. */
function latestOf(row: JobRow): JobView['latest'] {
  const latest: JobView['latest'] = { epoch: row.max_epoch }
  const [names, values] = row.last_values
  for (let n = 0; n < names.length; n++) put(latest, itemAt(names, n), values[n] ?? null)
  return latest
}

/** Each series' minimum or maximum, by which of them is better. */
function bestOf(row: JobRow): JobView['best'] {
  const best: JobView['best'] = {}
  const [names, min, max] = row.best_values
  for (let n = 0; n < names.length; n++) {
    const name = itemAt(names, n)
    put(best, name, (lessIsBetter(name) ? min : max)[n] ?? null)
  }
  return best
}

/**
 * `__proto__` may be the name of a series. An object without a prototype would be slow: V8 makes a hash table of it.
 */
function put(to: Record<string, number | string | null>, name: string, value: number | string | null): void {
  if (name === '__proto__') Object.defineProperty(to, name, { value, enumerable: true })
  else to[name] = value
}

const derived: Derived<typeof jobFields, Given> = {
  batch_id: (row) => row.batch_id,
  key: (row) => String(row.key),
  elapsed_s: elapsedOf,
  epochs: (row) => row.epochs,
  latest: latestOf,
  best: bestOf,
  idle: idleOf,
  eta_s: (_row, _clock, { etaS }) => etaS,
}

/** The view of a job for REST and GraphQL. Pure. */
export const jobView: (...given: Given) => JobView = withLoss(viewsOf(jobFields, derived))

/** A lost job reported neither its end nor a reason. */
function withLoss<View extends Partial<JobView>>(make: (...given: Given) => View): (...given: Given) => View {
  return (...given) => {
    const view = make(...given)
    const [row] = given
    if (row.status !== 'lost') return view
    if ('ended_at' in view) view.ended_at = endedAtOf(row)
    if ('failure_reason' in view) view.failure_reason = failureReasonOf(row)
    return view
  }
}

export type JobField = keyof typeof jobFields & string
export const JOB_FIELDS: readonly JobField[] = keysOf(jobFields)

/** Builds views of jobs with only these fields, so a row needs only their columns. */
export const jobViewOf = (fields: readonly JobField[]): ((...given: Given) => Partial<JobView>) =>
  withLoss<Partial<JobView>>(viewsOf(jobFields, derived, fields))
