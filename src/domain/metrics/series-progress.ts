import type { SeriesValues } from '../events/index.ts'
import { EpochGaps } from './epoch-gaps.ts'

/**
 * The progress of a job, by series. The dictionary gives each series of the job a number; the arrays here,
 * `epochs.vals` and the chunks all use it, so every series costs the same.
 */
export interface SeriesProgress {
  names: string[]
  numbers: Map<string, number>
  /** The names of the latest event, all of them in the dictionary, and their numbers there. */
  latest: { names: readonly string[]; numbers: readonly number[] } | null
  /** Distinct epochs. */
  epochs: number
  maxEpoch: number | null
  /** In no row: known only as long as the job is remembered. */
  gaps: EpochGaps
  /** Per series: the highest epoch that has it, and its value there. */
  lastEpoch: number[]
  lastValue: number[]
  /** Over finite values, else over infinite ones; NaN if there are none. */
  min: number[]
  max: number[]
  packedTo: number | null
  /** `bounds`: min or max changed. `extremes`: one of them may be wrong now and has to be recomputed. */
  changed: { names: boolean; values: boolean; bounds: boolean; extremes: boolean; chunks: boolean }
}

/** One row of `epochs`. `vals` has holes where the epoch lacks a series. */
export interface EpochRow {
  batchKey: number
  jobKey: number
  epoch: number
  /** Canonical instant, db_id and stamp of the latest event of this epoch. */
  at: string
  dbId: number
  stamp: string
  vals: (number | undefined)[]
  /** The event of each value; only once several events were merged. */
  stamps: Map<string, string> | null
}

export const unchanged = (): SeriesProgress['changed'] => ({
  names: false,
  values: false,
  bounds: false,
  extremes: false,
  chunks: false,
})

export const newProgress = (): SeriesProgress => ({
  names: [],
  numbers: new Map(),
  latest: null,
  epochs: 0,
  maxEpoch: null,
  gaps: new EpochGaps(),
  lastEpoch: [],
  lastValue: [],
  min: [],
  max: [],
  packedTo: null,
  changed: unchanged(),
})

/** The number of a series in the job's dictionary; a new series is added. */
export function seriesNumber(progress: SeriesProgress, name: string): number {
  let number = progress.numbers.get(name)
  if (number === undefined) {
    number = progress.names.length
    progress.names.push(name)
    progress.numbers.set(name, number)
    progress.lastEpoch.push(Number.NEGATIVE_INFINITY)
    progress.lastValue.push(Number.NaN)
    progress.min.push(Number.NaN)
    progress.max.push(Number.NaN)
    progress.changed.names = true
  }
  return number
}

/** The same for all series of an event; most are named as those of the job's event before. */
function seriesNumbers(progress: SeriesProgress, names: readonly string[]): readonly number[] {
  if (progress.latest?.names !== names)
    progress.latest = { names, numbers: names.map((name) => seriesNumber(progress, name)) }
  return progress.latest.numbers
}

/** Whether the epoch may have a row already. */
export const mayExist = ({ maxEpoch, gaps }: SeriesProgress, epoch: number): boolean =>
  maxEpoch !== null && epoch <= maxEpoch && !gaps.has(epoch)

/** Records a new epoch. */
function noteEpoch(progress: SeriesProgress, epoch: number): void {
  const { maxEpoch, gaps } = progress
  if (maxEpoch !== null && epoch < maxEpoch) {
    gaps.fill(epoch)
  } else {
    gaps.add(maxEpoch === null ? Number.NEGATIVE_INFINITY : maxEpoch + 1, epoch - 1)
    progress.maxEpoch = epoch
  }
}

export interface EpochEvent {
  epoch: number
  at: string
  dbId: number
  stamp: string
  series: SeriesValues
}

/**
 * Applies one job_epoch to the job's progress and to its row. Events of the same epoch are merged by series, the later
 * stamp wins (contract §1).
 * @param row the stored row of that epoch, undefined if there is none; changed in place
 * @returns the row to write, or null if it did not change
 */
export function foldEpoch(
  progress: SeriesProgress,
  { batchKey, jobKey }: Pick<EpochRow, 'batchKey' | 'jobKey'>,
  row: EpochRow | undefined,
  event: EpochEvent,
): EpochRow | null {
  const { names, values } = event.series
  progress.changed.values = true
  if (progress.packedTo !== null && event.epoch <= progress.packedTo) progress.changed.chunks = true
  if (row === undefined) {
    progress.epochs++
    noteEpoch(progress, event.epoch)
    const vals: (number | undefined)[] = []
    const numbers = seriesNumbers(progress, names)
    for (let i = 0; i < names.length; i++) {
      const n = numbers[i] ?? Number.NaN
      const value = values[i] ?? Number.NaN
      vals[n] = value
      note(progress, n, event.epoch, value)
    }
    return {
      batchKey,
      jobKey,
      epoch: event.epoch,
      at: event.at,
      dbId: event.dbId,
      stamp: event.stamp,
      vals,
      stamps: null,
    }
  }
  let changed = false
  if (row.stamps === null) {
    const all = row.stamp
    row.stamps = new Map()
    for (const [n, name] of progress.names.entries()) if (row.vals[n] !== undefined) row.stamps.set(name, all)
  }
  for (const [i, name] of names.entries()) {
    const n = seriesNumber(progress, name)
    const value = values[i] ?? Number.NaN
    const known = row.stamps.get(name)
    if (known !== undefined && event.stamp <= known) continue
    if (known !== undefined && losesExtreme(progress, n, row.vals[n], value)) progress.changed.extremes = true
    row.vals[n] = value
    row.stamps.set(name, event.stamp)
    note(progress, n, event.epoch, value)
    changed = true
  }
  if (event.stamp > row.stamp) {
    row.at = event.at
    row.dbId = event.dbId
    row.stamp = event.stamp
    changed = true
  }
  return changed ? row : null
}

/**
 * Whether the series loses its least or greatest value with this replacement: both are recomputed after the write, which
 * reads all epochs of the job.
 */
function losesExtreme(
  { min, max }: SeriesProgress,
  n: number,
  old: number | undefined,
  value: number,
): boolean {
  if (old === undefined || (old !== min[n] && old !== max[n])) return false
  const isAlike = Number.isFinite(value) === Number.isFinite(old)
  return !isAlike || (old === min[n] && !(value <= old)) || (old === max[n] && !(value >= old))
}

function note(progress: SeriesProgress, n: number, epoch: number, value: number): void {
  if (epoch >= (progress.lastEpoch[n] ?? Number.NaN)) {
    progress.lastEpoch[n] = epoch
    progress.lastValue[n] = value
  }
  if (Number.isNaN(value)) return
  const { min, max } = progress
  const isLeast = outdoes(min[n], value, (known) => value < known)
  const isGreatest = outdoes(max[n], value, (known) => value > known)
  if (isLeast) min[n] = value
  if (isGreatest) max[n] = value
  if (isLeast || isGreatest) progress.changed.bounds = true
}

/** An infinite value is an extreme only while there is no finite one. */
function outdoes(known: number | undefined, value: number, isBeyond: (known: number) => boolean): boolean {
  if (known === undefined || Number.isNaN(known)) return true
  return Number.isFinite(known) === Number.isFinite(value) ? isBeyond(known) : Number.isFinite(value)
}
