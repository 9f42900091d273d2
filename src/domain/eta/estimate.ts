import { itemAt } from '../../checked.ts'
import { randomFrom } from '../random.ts'
import type { PlannedLength } from './planned.ts'

/**
 * The ETA of a batch and of its jobs, with a range (contract §4). Pure: takes the facts of one moment, so that
 * bench/eta.ts can replay whole sweeps. Times are Unix milliseconds, durations are milliseconds.
 *
 * A running job continues at the pace of its latest epochs, weighted with its pace so far. A job that has not started
 * takes as long as its siblings, the latest ones counting most, failed ones included. Both are sampled many times and
 * simulated on the slots that the batch has been using; the median is the estimate, and the 10% and 90% quantiles are
 * the range.
 */

export interface RunningJob {
  key: number
  startedAt: number
  lastSeenAt: number
  /** Distinct epochs. */
  epochs: number
  /** Its length according to its parameters, the likeliest first; empty if they do not say. */
  planned: readonly PlannedLength[]
  /** Its first epoch, one near the middle, and its latest ones, by epoch; null before any. */
  first: EpochTime | null
  middle: EpochTime | null
  recent: EpochTime[]
}

export interface EpochTime {
  epoch: number
  at: number
}

export interface EndedJob {
  startedAt: number
  endedAt: number
  /** Its highest epoch; null without any. */
  lastEpoch: number | null
  completed: boolean
}

export interface BatchFacts {
  /** The moment of the estimate; for a silent batch, when it was last seen. */
  now: number
  /** Planned jobs; null or 0 while unknown. */
  nTotal: number | null
  /** Jobs that started, ended ones included. */
  nStarted: number
  nCompleted: number
  /** All epochs of all jobs. */
  epochs: number
  running: RunningJob[]
  /** The latest ones, in any order. */
  ended: EndedJob[]
}

/** The basis of an estimate: epochs of running jobs, ended jobs, or both. */
export type EtaBasis = 'epochs' | 'jobs' | 'epochs+jobs'
/** There is no estimate, because nothing says how long a job is: neither its parameters nor jobs that have ended. */
export const UNKNOWN_LENGTH = 'unknown_length'
/** Null while there is too little data. */
export type Estimate = Eta | typeof UNKNOWN_LENGTH | null

export interface Eta {
  etaMs: number
  lowMs: number
  highMs: number
  /** How many durations of epochs and jobs it is based on. */
  nSamples: number
  basis: EtaBasis
}

export interface Estimates {
  /** Null until three epochs or one job are completed. */
  batch: Estimate
  /** By job key; null likewise. */
  jobs: Map<number, Estimate>
}

const DRAWS = 101
/** Limits the work for batches of thousands of jobs. */
const MAX_STEPS = 20_000
const MIN_EPOCHS = 3
const GONE_AFTER_MS = 15 * 60_000
/** After this many further jobs, a job counts half. */
const HALF_LIFE = 10

export function estimate(facts: BatchFacts): Estimates {
  const random = randomFrom(1)
  const ended = facts.ended.toSorted((a, b) => a.startedAt - b.startedAt)
  const usualEnd = median(ended.flatMap((j) => (j.completed && j.lastEpoch !== null ? [j.lastEpoch] : [])))
  const durations = weighDurations(ended)
  const present = facts.running.filter((job) => !isGone(job, facts.now, durations))
  const running = (present.length > 0 ? present : facts.running).map((job) => ({
    job,
    rest: restOf(job, facts.now, usualEnd, durations),
  }))
  const enough = facts.epochs >= MIN_EPOCHS || facts.nCompleted >= 1
  const jobs = new Map<number, Estimate>()
  for (const { job, rest } of running) {
    const known = job.epochs >= MIN_EPOCHS || facts.nCompleted >= 1
    jobs.set(
      job.key,
      rest === UNKNOWN_LENGTH
        ? UNKNOWN_LENGTH
        : known && rest !== null
          ? summarise(
              draws(DRAWS, () => rest.draw(random)),
              rest,
            )
          : null,
    )
  }
  // A job that has stopped without a word may not be waited for, but its length is no less unknown.
  if (running.some(({ rest }) => rest === UNKNOWN_LENGTH)) return { batch: UNKNOWN_LENGTH, jobs }
  if (!enough) return { batch: null, jobs }
  // Nothing runs, and nothing says whether more is to come: a sweep without a limit plans 0 jobs.
  if (running.length === 0 && (facts.nTotal ?? 0) === 0) return { batch: UNKNOWN_LENGTH, jobs }

  const pending = Math.max(0, (facts.nTotal ?? 0) - facts.nStarted)
  const whole = pending === 0 ? null : wholeJob(ended, durations, running, facts.now, pending)
  const rests = running.map((r) => r.rest)
  const known = rests.filter((rest) => rest !== null && rest !== UNKNOWN_LENGTH)
  if (known.length < rests.length || (pending > 0 && whole === null)) return { batch: null, jobs }
  const slots = slotsOf(facts, ended)
  const pause = pending === 0 ? 0 : pauseOf(facts, ended)
  const count = Math.max(15, Math.min(DRAWS, Math.floor(MAX_STEPS / (pending + known.length + 1))))
  const ends = draws(count, () => {
    // What the jobs of one batch have in common is drawn once for all of them.
    const shared = whole === null ? 1 : Math.exp(whole.sigma * gaussian(random))
    const free = known.map((rest) => rest.draw(random))
    let last = free.reduce((a, b) => Math.max(a, b), 0)
    if (whole !== null) {
      while (free.length < slots) free.push(0)
      const heap = makeHeap(free)
      for (let n = 0; n < pending; n++) {
        const end = (heap[0] ?? Number.NaN) + pause + whole.draw(random) * shared
        if (end > last) last = end
        replaceLeast(heap, end)
      }
    }
    return last
  })
  return { batch: summarise(ends, basisOf(known, whole, durations)), jobs }
}

/** A job that has been silent for long while its batch continued: it was probably killed, and no slot waits for it. */
function isGone(job: RunningJob, now: number, siblings: Weighted): boolean {
  const silent = now - job.lastSeenAt
  if (silent < GONE_AFTER_MS) return false
  const pace = paceOf(job)
  return silent > (pace === null ? 3 * siblings.mean : 10 * pace.overall)
}

/** The remaining time of a running job, as a distribution. */
interface Rest {
  draw: (random: () => number) => number
  /** Its likely whole duration. */
  totalMs: number
  nSamples: number
  basis: EtaBasis
}

function restOf(
  job: RunningJob,
  now: number,
  usualEnd: number | null,
  siblings: Weighted,
): Rest | typeof UNKNOWN_LENGTH | null {
  const elapsed = Math.max(0, now - job.startedAt)
  const pace = paceOf(job)
  const reached = job.recent.at(-1)
  if (pace !== null && reached !== undefined) {
    const end = endOf(job, reached.epoch, usualEnd)
    if (end !== null) {
      const left = end - reached.epoch
      const { perEpoch, sigma } = paceAhead(pace, left)
      const waited = Math.max(0, now - reached.at)
      const mean = Math.max(left * perEpoch - waited, Math.min(1, left) * perEpoch * 0.1)
      return {
        draw: (random) => mean * Math.exp(sigma * gaussian(random)),
        totalMs: elapsed + mean,
        nSamples: pace.n,
        basis: 'epochs',
      }
    }
  }
  if (siblings.values.length > 0) {
    const longer = only(siblings, (ms) => ms > elapsed)
    return {
      draw: (random) =>
        longer.values.length > 0
          ? Math.max(0, pick(longer, random) * spread(random) - elapsed)
          : elapsed * (0.05 + 0.45 * random()),
      totalMs: Math.max(elapsed, siblings.mean),
      nSamples: siblings.values.length,
      basis: 'jobs',
    }
  }
  return endOf(job, reached?.epoch ?? 0, usualEnd) === null ? UNKNOWN_LENGTH : null
}

/** The last epoch of a job: the planned one, unless the job is past it; else the one at which its siblings ended. */
function endOf(job: RunningJob, reached: number, usualEnd: number | null): number | null {
  const planned = job.planned
    .map((length) => lastOf(length, job.first?.epoch ?? 0))
    .find((last) => last >= reached)
  if (planned !== undefined) return planned
  return usualEnd !== null && usualEnd >= reached ? usualEnd : null
}

/** Epochs are counted from 0, or from 1 by those whose first epoch is 1; steps from 0 only if the first one is 0. */
const lastOf = ({ length, inEpochs }: PlannedLength, first: number): number =>
  length - ((inEpochs ? first === 1 : first > 0) ? 0 : 1)

/** The pace of a job, in milliseconds per epoch. */
interface Pace {
  overall: number
  lately: number
  /** In the first and the second half of its epochs so far; null before there are enough. */
  halves: [number, number] | null
  /** The relative deviation of one epoch, and of the mean of a block of epochs. */
  noise: number
  wander: number
  blocks: number
  blockSize: number
  /** The number of epochs so far, and of durations among the latest. */
  span: number
  n: number
}

function paceOf({ first, middle, recent }: RunningJob): Pace | null {
  const last = recent.at(-1)
  const begin = recent[0]
  if (first === null || last === undefined || begin === undefined || last.epoch <= first.epoch) return null
  const between = (a: EpochTime, b: EpochTime): number =>
    Math.max(1, b.at - a.at) / Math.max(1, b.epoch - a.epoch)
  const deltas: number[] = []
  for (let i = 1; i < recent.length; i++) {
    const [a, b] = [itemAt(recent, i - 1), itemAt(recent, i)]
    deltas.push(Math.max(0, b.at - a.at) / Math.max(1, b.epoch - a.epoch))
  }
  const n = deltas.length
  const noise = n < 2 ? 0.5 : deviation(deltas) / Math.max(1, average(deltas))
  const blockSize = Math.max(1, Math.ceil(n / 5))
  const blocks = chunksOf(deltas, blockSize).map(average)
  return {
    overall: between(first, last),
    lately: last.epoch > begin.epoch ? between(begin, last) : between(first, last),
    halves:
      middle !== null && middle.epoch - first.epoch >= 4 && last.epoch - middle.epoch >= 4
        ? [between(first, middle), between(middle, last)]
        : null,
    noise,
    wander: blocks.length < 2 ? noise : deviation(blocks) / Math.max(1, average(blocks)),
    blocks: blocks.length,
    blockSize,
    span: last.epoch - first.epoch,
    n,
  }
}

/**
 * The pace of the remaining epochs, with its relative error. A trend is extrapolated as far as it exceeds the noise,
 * but not further ahead than it was observed in the past.
 */
function paceAhead(pace: Pace, left: number): { perEpoch: number; sigma: number } {
  const { overall, lately, halves, noise, wander, blocks, blockSize, span, n } = pace
  const flat = Math.exp(0.4 * Math.log(lately) + 0.6 * Math.log(overall))
  let perEpoch = flat
  if (halves !== null) {
    const change = halves[1] - halves[0]
    const error = Math.max(wander * Math.sqrt(blockSize / (span / 2)), noise / Math.sqrt(span / 2), 0.01)
    const slope = change * believed(change / (overall * error * Math.SQRT2))
    const ahead = 0.25 + Math.min(left / span, 1) / 2
    const level = halves[1] + slope * 2 * ahead
    const trusted = believed(change / (overall * error * Math.SQRT2))
    perEpoch = flat + trusted * (Math.min(overall * 3, Math.max(overall / 3, level)) - flat)
  }
  const moved = Math.max(Math.abs(Math.log(perEpoch / flat)), Math.abs(Math.log(overall / lately))) * 0.5
  const few = 0.3 / (n + 1)
  const unsure = wander / Math.sqrt(Math.max(1, blocks))
  // The noise of single epochs averages out over the remaining ones; a wrong pace does not.
  const rest = Math.max(
    noise / Math.sqrt(Math.max(1, left)),
    wander * Math.sqrt(Math.min(1, blockSize / Math.max(1, left))),
  )
  return { perEpoch, sigma: Math.hypot(0.02, 1.2 * unsure, moved, few, 1.2 * rest) }
}

/** The weight of a change of so many standard errors: 0 to 1. */
const believed = (errors: number): number => errors ** 4 / (errors ** 4 + 81)

interface Weighted {
  values: number[]
  weights: number[]
  mean: number
}

/** The durations of ended jobs; older ones count less. */
function weighDurations(ended: EndedJob[]): Weighted {
  const values = ended.map((j) => Math.max(1, j.endedAt - j.startedAt))
  return weighted(
    values,
    values.map((_, i) => 0.5 ** ((values.length - 1 - i) / HALF_LIFE)),
  )
}

function weighted(values: number[], weights: number[]): Weighted {
  const sum = weights.reduce((a, b) => a + b, 0)
  const mean = values.reduce((total, v, i) => total + v * (weights[i] ?? Number.NaN), 0) / Math.max(sum, 1e-9)
  return { values, weights, mean }
}

const only = ({ values, weights }: Weighted, keep: (value: number) => boolean): Weighted =>
  weighted(
    values.filter(keep),
    weights.filter((_, i) => keep(values[i] ?? Number.NaN)),
  )

/** The duration of a job that has not started: like ended jobs, and like the expected total of running ones. */
function wholeJob(
  ended: EndedJob[],
  durations: Weighted,
  running: { job: RunningJob; rest: Rest | typeof UNKNOWN_LENGTH | null }[],
  now: number,
  pending: number,
): { draw: (random: () => number) => number; sigma: number } | null {
  const known = ended.map((job, i) => ({
    startedAt: job.startedAt,
    value: durations.values[i] ?? Number.NaN,
    weight: durations.weights[i] ?? Number.NaN,
  }))
  for (const { job, rest } of running) {
    if (rest === null || rest === UNKNOWN_LENGTH || rest.basis === 'jobs') continue
    // The estimate of a running job counts more the further it is.
    const weight = Math.max(0.05, Math.min(1, (now - job.startedAt) / Math.max(1, rest.totalMs)))
    known.push({ startedAt: job.startedAt, value: Math.max(1, rest.totalMs), weight })
  }
  if (known.length === 0) return null
  // Sorted by start: sorted by end, the short ones of jobs that began together would come first and look like
  // a trend.
  known.sort((a, b) => a.startedAt - b.startedAt)
  const values = known.map((k) => k.value)
  const weights = known.map((k) => k.weight)
  const all = weighted(values, weights)
  const sum = weights.reduce((a, b) => a + b, 0)
  const variance = values.reduce((t, v, i) => t + (weights[i] ?? Number.NaN) * (v - all.mean) ** 2, 0) / sum
  const n = values.length
  // A few durations show little of their spread, so a spread of a quarter is mixed in.
  const relative = Math.sqrt(((variance / Math.max(1, all.mean) ** 2) * (n - 1) + 0.25 ** 2) / n)
  const effective = sum ** 2 / weights.reduce((t, w) => t + w * w, 0)
  const trend = trendOf(values, pending)
  return {
    draw: (random) => pick(all, random) * trend,
    // The error of the mean, which does not average out over many jobs.
    sigma: Math.hypot(0.02, (relative * (1.2 + 2 / effective)) / Math.sqrt(effective), 0.4 * Math.log(trend)),
  }
}

/** The factor by which the next jobs take longer than those so far, as far as the trend exceeds the noise. */
function trendOf(values: number[], pending: number): number {
  const n = values.length
  if (n < 3) return 1
  const mean = average(values)
  const middle = (n - 1) / 2
  const squares = values.reduce((t, _, i) => t + (i - middle) ** 2, 0)
  const slope = values.reduce((t, v, i) => t + (i - middle) * (v - mean), 0) / squares
  const residual = values.reduce((t, v, i) => t + (v - mean - slope * (i - middle)) ** 2, 0)
  const error = Math.sqrt((residual + (0.05 * mean) ** 2) / Math.max(1, n - 2) / squares)
  const ahead = n + Math.min(pending, n) / 2 - middle
  const factor = (mean + slope * ahead) / mean
  return 1 + believed(slope / error) * (Math.min(2.5, Math.max(0.4, factor)) - 1)
}

/** How many jobs run in parallel: as many as now, or as right after one of the latest starts. */
function slotsOf({ running }: BatchFacts, ended: EndedJob[]): number {
  const spans = [
    ...ended.map((j) => ({ from: j.startedAt, to: j.endedAt })),
    ...running.map((j) => ({ from: j.startedAt, to: Number.POSITIVE_INFINITY })),
  ].sort((a, b) => b.from - a.from)
  let most = running.length
  for (const { from } of spans.slice(0, 6)) {
    most = Math.max(most, spans.filter((s) => s.from <= from && s.to > from).length)
  }
  return Math.max(1, most)
}

/** The usual time between the end of a job and the start of the next one. */
function pauseOf({ running }: BatchFacts, ended: EndedJob[]): number {
  const starts = [...ended, ...running].map((j) => j.startedAt)
  const pauses: number[] = []
  for (const start of starts) {
    const before = ended.filter((j) => j.endedAt <= start)
    if (before.length > 0) pauses.push(start - Math.max(...before.map((j) => j.endedAt)))
  }
  return Math.min(median(pauses) ?? 0, median(ended.map((j) => j.endedAt - j.startedAt)) ?? 0)
}

function basisOf(rests: Rest[], whole: unknown, durations: Weighted): { nSamples: number; basis: EtaBasis } {
  const epochs = rests.filter((r) => r.basis === 'epochs')
  const usesJobs = durations.values.length > 0 && (whole !== null || rests.some((r) => r.basis === 'jobs'))
  const nSamples = epochs.reduce((n, r) => n + r.nSamples, 0) + (usesJobs ? durations.values.length : 0)
  const basis = epochs.length > 0 && usesJobs ? 'epochs+jobs' : usesJobs ? 'jobs' : 'epochs'
  return { nSamples, basis }
}

function summarise(values: number[], { nSamples, basis }: { nSamples: number; basis: EtaBasis }): Eta {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (p: number): number => sorted[Math.round(p * (sorted.length - 1))] ?? Number.NaN
  return { etaMs: at(0.5), lowMs: at(0.1), highMs: at(0.9), nSamples, basis }
}

const draws = (count: number, draw: () => number): number[] => Array.from({ length: count }, draw)
const spread = (random: () => number): number => Math.exp(0.1 * gaussian(random))

function pick({ values, weights }: Weighted, random: () => number): number {
  let left = random() * weights.reduce((a, b) => a + b, 0)
  for (let i = 0; i < values.length; i++) {
    left -= weights[i] ?? Number.NaN
    if (left <= 0) return values[i] ?? Number.NaN
  }
  return values.at(-1) ?? Number.NaN
}

const average = (values: number[]): number => values.reduce((a, b) => a + b, 0) / Math.max(1, values.length)
function deviation(values: number[]): number {
  const mean = average(values)
  return Math.sqrt(values.reduce((sum, v) => sum + (v - mean) ** 2, 0) / Math.max(1, values.length - 1))
}
function median(values: number[]): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted.length === 0 ? null : (sorted[sorted.length >> 1] ?? Number.NaN)
}
function chunksOf(values: number[], size: number): number[][] {
  const chunks: number[][] = []
  for (let i = 0; i + size <= values.length; i += size) chunks.push(values.slice(i, i + size))
  return chunks
}

const gaussian = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

function makeHeap(values: number[]): number[] {
  return values.sort((a, b) => a - b)
}
/** Replaces the smallest value of a heap by `value`. */
function replaceLeast(heap: number[], value: number): void {
  let i = 0
  for (;;) {
    let child = 2 * i + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && (heap[child + 1] ?? Number.NaN) < (heap[child] ?? Number.NaN)) child++
    if ((heap[child] ?? Number.NaN) >= value) break
    heap[i] = heap[child] ?? Number.NaN
    i = child
  }
  heap[i] = value
}
