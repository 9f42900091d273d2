/**
 * How good the estimates are: sweeps, simulated and recorded, are stopped at 25, 50 and 75% of their time, and what was
 * estimated then is held against what came. Told are the median error, as a share of the whole duration, and how often
 * the truth fell into the range (which means to hold it in 80 of 100 cases).
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BatchFacts, estimate, plannedLengths, type RunningJob } from '../src/domain/eta/index.ts'
import { randomFrom } from '../src/domain/random.ts'
import { type Figure, median, printFigures } from './kit/report.ts'

interface SimulatedJob {
  startedAt: number
  endedAt: number
  completed: boolean
  planned: number | null
  epochs: { epoch: number; at: number }[]
}
interface Sweep {
  jobs: SimulatedJob[]
  nTotal: number
  endedAt: number
}

const RECENT = 24
const ENDED = 64

/** What the service would know at that moment. */
function factsAt(sweep: Sweep, now: number): BatchFacts {
  const started = sweep.jobs.filter((j) => j.startedAt <= now)
  const seen = (job: SimulatedJob) => job.epochs.filter((e) => e.at <= now)
  const ended = started.filter((j) => j.endedAt <= now)
  return {
    now,
    nTotal: sweep.nTotal,
    nStarted: started.length,
    nCompleted: ended.filter((j) => j.completed).length,
    epochs: started.reduce((sum, j) => sum + seen(j).length, 0),
    running: started
      .filter((j) => j.endedAt > now)
      .map((job, key): RunningJob => {
        const epochs = seen(job)
        return {
          key,
          startedAt: job.startedAt,
          lastSeenAt: epochs.at(-1)?.at ?? job.startedAt,
          epochs: epochs.length,
          planned: job.planned === null ? [] : [{ length: job.planned, inEpochs: true }],
          first: epochs[0] ?? null,
          middle: epochs[epochs.length >> 1] ?? null,
          recent: epochs.slice(-RECENT),
        }
      }),
    ended: ended
      .toSorted((a, b) => b.startedAt - a.startedAt)
      .slice(0, ENDED)
      .map(({ startedAt, endedAt, completed, epochs }) => ({
        startedAt,
        endedAt,
        completed,
        lastEpoch: epochs.at(-1)?.epoch ?? null,
      })),
  }
}

type Random = () => number
const gaussian = (random: Random): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

interface Shape {
  jobs: number
  slots: number
  epochs: number
  /** Milliseconds of one epoch. */
  epochMs: (at: { job: number; epoch: number; share: number; random: Random; size: number }) => number
  /** How the jobs differ in size: deviation of the logarithm. */
  sizes?: number
  failing?: number
  planned?: boolean
}

function simulate(shape: Shape, seed: number): Sweep {
  const random = randomFrom(seed)
  const free = Array.from({ length: shape.slots }, () => 0)
  const jobs: SimulatedJob[] = []
  for (let job = 0; job < shape.jobs; job++) {
    const slot = free.indexOf(Math.min(...free))
    const startedAt = (free[slot] as number) + 2_000 * random()
    const size = Math.exp((shape.sizes ?? 0) * gaussian(random))
    const fails = random() < (shape.failing ?? 0)
    const last = fails ? Math.floor(random() * shape.epochs * 0.5) : shape.epochs
    const epochs: SimulatedJob['epochs'] = []
    let at = startedAt + 3_000
    for (let epoch = 0; epoch < last; epoch++) {
      const share = (job + epoch / shape.epochs) / shape.jobs
      at += shape.epochMs({ job, epoch, share, random, size })
      epochs.push({ epoch, at })
    }
    const endedAt = at + 500
    free[slot] = endedAt
    jobs.push({
      startedAt,
      endedAt,
      completed: !fails,
      planned: shape.planned === false ? null : shape.epochs,
      epochs,
    })
  }
  return { jobs, nTotal: shape.jobs, endedAt: Math.max(...jobs.map((j) => j.endedAt)) }
}

const steady: Shape['epochMs'] = ({ random, size }) => 10_000 * size * Math.exp(0.03 * gaussian(random))
const noisy: Shape['epochMs'] = ({ random, size }) => 10_000 * size * Math.exp(0.4 * gaussian(random))
/** One epoch in eight lasts six times as long, and such come in runs. */
function bursty(): Shape['epochMs'] {
  let slow = false
  return ({ random, size }) => {
    if (random() < (slow ? 0.4 : 0.06)) slow = !slow
    return 10_000 * size * (slow ? 6 : 1) * Math.exp(0.1 * gaussian(random))
  }
}

const SHAPES: Record<string, Shape> = {
  'one job, constant epochs': { jobs: 1, slots: 1, epochs: 200, epochMs: steady },
  'one job, noisy epochs': { jobs: 1, slots: 1, epochs: 200, epochMs: noisy },
  'one job, epochs grow to twice as long': {
    jobs: 1,
    slots: 1,
    epochs: 200,
    epochMs: (at) => steady(at) * (1 + at.share),
  },
  'one job, bursty epochs': { jobs: 1, slots: 1, epochs: 200, epochMs: bursty() },
  'one job, every tenth epoch evaluates': {
    jobs: 1,
    slots: 1,
    epochs: 200,
    epochMs: (at) => steady(at) * (at.epoch % 10 === 9 ? 8 : 1),
  },
  '12 jobs in turn, constant': { jobs: 12, slots: 1, epochs: 50, epochMs: steady },
  '12 jobs in turn, epochs unknown': { jobs: 12, slots: 1, epochs: 50, epochMs: steady, planned: false },
  '12 jobs in turn, growing to twice as long': {
    jobs: 12,
    slots: 1,
    epochs: 50,
    epochMs: (at) => steady(at) * (1 + at.share),
  },
  '12 jobs in turn, of many sizes': { jobs: 12, slots: 1, epochs: 50, epochMs: noisy, sizes: 0.5 },
  '24 jobs in 4 slots': { jobs: 24, slots: 4, epochs: 50, epochMs: noisy, sizes: 0.25 },
  '24 jobs in 4 slots, a third fails early': {
    jobs: 24,
    slots: 4,
    epochs: 50,
    epochMs: noisy,
    sizes: 0.25,
    failing: 0.33,
  },
  '100 jobs in 8 slots, bursty': { jobs: 100, slots: 8, epochs: 30, epochMs: bursty(), sizes: 0.2 },
  '8 jobs side by side': { jobs: 8, slots: 8, epochs: 100, epochMs: noisy, sizes: 0.3 },
}
const AT = [0.25, 0.5, 0.75] as const
const SEEDS = 120

interface Outcome {
  errors: number[]
  covered: number
  widths: number[]
  missing: number
}

function tryOut(sweeps: Sweep[], share: number): Outcome {
  const outcome: Outcome = { errors: [], covered: 0, widths: [], missing: 0 }
  for (const sweep of sweeps) {
    const begun = Math.min(...sweep.jobs.map((j) => j.startedAt))
    const whole = sweep.endedAt - begun
    const now = begun + share * whole
    const { batch } = estimate(factsAt(sweep, now))
    if (batch === null || batch === 'unknown_length') {
      outcome.missing++
      continue
    }
    const truth = sweep.endedAt - now
    outcome.errors.push(Math.abs(batch.etaMs - truth) / whole)
    outcome.widths.push((batch.highMs - batch.lowMs) / whole)
    if (batch.lowMs <= truth && truth <= batch.highMs) outcome.covered++
  }
  return outcome
}

function recorded(): Sweep {
  const path = join(import.meta.dirname, '../schemas/examples/recorded/digits-sweep.jsonl')
  const jobs = new Map<string, SimulatedJob>()
  let nTotal = 0
  let endedAt = 0
  for (const line of readFileSync(path, 'utf8').trim().split('\n')) {
    const event = JSON.parse(line)
    const at = Date.parse(event.timestamp)
    if (event.event_type === 'batch_start') nTotal = event.data.n_total
    if (event.event_type === 'batch_done') endedAt = at
    if (event.event_type === 'job_start') {
      jobs.set(event.job_id, {
        startedAt: at,
        endedAt: Number.POSITIVE_INFINITY,
        completed: true,
        planned: plannedLengths(event.data, null)[0]?.length ?? null,
        epochs: [],
      })
    }
    const job = jobs.get(event.job_id)
    if (job === undefined) continue
    if (event.event_type === 'job_epoch') job.epochs.push({ epoch: event.data.epoch, at })
    if (event.event_type === 'job_done' || event.event_type === 'job_failed') {
      job.endedAt = at
      job.completed = event.event_type === 'job_done'
    }
  }
  return { jobs: [...jobs.values()], nTotal, endedAt }
}

export async function benchEta(): Promise<Figure[]> {
  const percent = (value: number): string => `${(value * 100).toFixed(1)}%`
  const all = AT.map((): Outcome => ({ errors: [], covered: 0, widths: [], missing: 0 }))
  const rows: [string, Sweep[]][] = Object.entries(SHAPES).map(([name, shape]) => [
    name,
    Array.from({ length: SEEDS }, (_, seed) => simulate(shape, seed + 1)),
  ])
  rows.push(['recorded digits sweep (one)', [recorded()]])
  const figures = rows.map(([name, sweeps]): Figure => {
    const outcomes = AT.map((share) => tryOut(sweeps, share))
    if (sweeps.length > 1) {
      for (const [i, { errors, widths, covered, missing }] of outcomes.entries()) {
        const sum = all[i] as Outcome
        sum.errors.push(...errors)
        sum.widths.push(...widths)
        sum.covered += covered
        sum.missing += missing
      }
    }
    return { what: name, value: outcomes.map(cell).join('; '), limit: '' }
  })
  return [
    ...figures,
    { what: 'all simulated', value: all.map(cell).join('; '), limit: 'truth inside in 80%' },
  ]

  function cell({ errors, covered, widths, missing }: Outcome, i: number): string {
    const at = `at ${(AT[i] as number) * 100}%:`
    if (errors.length === 0) return `${at} none yet`
    const unknown = missing === 0 ? '' : `, ${missing} without`
    return `${at} off ${percent(median(errors))}, inside ${percent(covered / errors.length)}, wide ${percent(median(widths))}${unknown}`
  }
}

if (process.argv[1] === import.meta.filename) printFigures('ETA', await benchEta())
