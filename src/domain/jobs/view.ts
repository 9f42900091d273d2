import type { JobStatus } from '../batches/index.ts'
import { elapsedS } from '../batches/index.ts'
import { writeNumber } from '../events/index.ts'
import { type Clock, isIdle } from '../liveness.ts'

/** A job as `jobColumns` reads it. */
export interface JobRow {
  key: number
  batch_key: number
  id: string
  status: JobStatus
  model: string | null
  dataset: string | null
  started_at: string
  ended_at: string | null
  failure_reason: string | null
  step_unit: string | null
  pruned: boolean
  /** Part `traceback`. */
  traceback: string | null
  /** Part `batch`. */
  batch_id: string
  /** Part `params`. */
  params: Record<string, unknown>
  /** Part `metrics`. */
  metrics: Record<string, unknown>
  /** Part `elapsed`. */
  reported_s: number | null
  last_seen_at: string
  clock_skews: number[]
  /** Part `progress`. */
  epochs: number
  max_epoch: number | null
  /** The names of its series, and the last value of each as it is written. As JSON they are read in half the time. */
  last_values: [names: string[], values: (number | string | null)[]]
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

/** A job on the wire (contract §4). Numbers that JSON cannot write are "NaN", "Infinity", "-Infinity". */
export interface JobView {
  batch_id: string
  id: string
  key: string
  status: JobStatus
  model: string | null
  dataset: string | null
  params: Record<string, unknown>
  started_at: string
  ended_at: string | null
  elapsed_s: number | string
  epochs: number
  latest: { epoch: number | null } & Record<string, number | string | null>
  metrics: Record<string, unknown>
  failure_reason: string | null
  /** Of the failure that ended it. */
  traceback: string | null
  /** What one step of its series counts, such as `tokens`; null: epochs. */
  step_unit: string | null
  /** Ended early because another job did better. */
  pruned: boolean
  idle: boolean
  eta_s: number | null
}

/** The one form of a job for REST and GraphQL. Pure. */
export function jobView(row: JobRow, clock: Clock, extras: { etaS: number | null }): JobView {
  return {
    batch_id: row.batch_id,
    id: row.id,
    key: String(row.key),
    status: row.status,
    model: row.model,
    dataset: row.dataset,
    params: row.params,
    started_at: row.started_at,
    ended_at: row.ended_at,
    elapsed_s: elapsedOf(row, clock),
    epochs: row.epochs,
    latest: latestOf(row),
    metrics: row.metrics,
    failure_reason: row.failure_reason,
    traceback: row.traceback,
    step_unit: row.step_unit,
    pruned: row.pruned,
    idle: idleOf(row, clock),
    eta_s: extras.etaS,
  }
}

/** The same, of which each field is made when it is asked for: its row needs to hold only what is. */
export class LazyJobView implements JobView {
  readonly #row: JobRow
  readonly #clock: Clock
  readonly eta_s: number | null
  constructor(row: JobRow, clock: Clock, { etaS }: { etaS: number | null }) {
    this.#row = row
    this.#clock = clock
    this.eta_s = etaS
  }
  get batch_id() {
    return this.#row.batch_id
  }
  get id() {
    return this.#row.id
  }
  get key() {
    return String(this.#row.key)
  }
  get status() {
    return this.#row.status
  }
  get model() {
    return this.#row.model
  }
  get dataset() {
    return this.#row.dataset
  }
  get params() {
    return this.#row.params
  }
  get started_at() {
    return this.#row.started_at
  }
  get ended_at() {
    return this.#row.ended_at
  }
  get elapsed_s() {
    return elapsedOf(this.#row, this.#clock)
  }
  get epochs() {
    return this.#row.epochs
  }
  get latest() {
    return latestOf(this.#row)
  }
  get metrics() {
    return this.#row.metrics
  }
  get failure_reason() {
    return this.#row.failure_reason
  }
  get traceback() {
    return this.#row.traceback
  }
  get step_unit() {
    return this.#row.step_unit
  }
  get pruned() {
    return this.#row.pruned
  }
  get idle() {
    return idleOf(this.#row, this.#clock)
  }
}

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
  for (let n = 0; n < names.length; n++) {
    const name = names[n] as string
    const value = values[n] ?? null
    // `__proto__` is a series like any other. Not by an object without a prototype: V8 makes each of them a hash table.
    if (name === '__proto__') Object.defineProperty(latest, name, { value, enumerable: true })
    else latest[name] = value
  }
  return latest
}
