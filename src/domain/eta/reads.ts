import { byBatch } from '../../db/by-batch.ts'
import { instantOf } from '../../db/instant.ts'
import type { Db } from '../../db/sql.ts'
import { aliveAt, correctionMs, eventSkews } from '../batches/index.ts'
import { type Clock, isStalled } from '../liveness.ts'
import {
  type BatchFacts,
  type EndedJob,
  type Estimate,
  estimate,
  type RunningJob,
  UNKNOWN_LENGTH,
} from './estimate.ts'
import type { ShownEta } from './eta-fields.ts'
import { PLANNED_PARAMS, plannedLengths } from './planned.ts'

export interface BatchEtas {
  batch: ShownEta
  /** By job key; running jobs only. */
  jobs: Map<number, ShownEta>
}

export const NO_ETA: ShownEta = {
  eta_s: null,
  low_s: null,
  high_s: null,
  eta_at: null,
  n_samples: 0,
  basis: null,
}

/** The limits of what is read: the latest epochs of a running job, running jobs, and the latest ended jobs. */
const RECENT_EPOCHS = 24
const MAX_RUNNING = 256
const MAX_ENDED = 64
/** After this silence an estimate no longer changes: it stays as at the last sign of life. */
const SILENT_MS = 15 * 60_000

/**
 * ETAs of many batches and of their running jobs, in three statements for any number of batches.
 * @returns by batch key; batches that do not run, or have been silent for too long, are absent
 */
export async function etaOf(
  db: Db,
  batchKeys: readonly number[],
  clock: Clock,
): Promise<Map<number, BatchEtas>> {
  const { now } = clock
  const facts = batchKeys.length === 0 ? new Map() : await loadFacts(db, [...batchKeys], clock)
  const etas = new Map<number, BatchEtas>()
  for (const [key, known] of facts) {
    const { batch, jobs } = estimate(known)
    etas.set(key, {
      batch: show(batch, now),
      jobs: new Map([...jobs].map(([job, eta]) => [job, show(eta, now)])),
    })
  }
  return etas
}

const seconds = (ms: number): number => Math.round(ms / 100) / 10

function show(eta: Estimate, now: Date): ShownEta {
  if (eta === null) return NO_ETA
  if (eta === UNKNOWN_LENGTH) return { ...NO_ETA, basis: UNKNOWN_LENGTH }
  return {
    eta_s: seconds(eta.etaMs),
    low_s: seconds(eta.lowMs),
    high_s: seconds(eta.highMs),
    eta_at: instantOf(new Date(Math.min(now.getTime() + eta.etaMs, 8_640_000_000_000_000))).replace(
      /\.\d+Z$/,
      'Z',
    ),
    n_samples: eta.nSamples,
    basis: eta.basis,
  }
}

interface BatchRow {
  key: number
  n_total: number | null
  n_jobs: number
  n_completed: number
  epochs: number
  last_seen: number
  last_seen_at: string
  last_live_at: string | null
  event_skews: number[]
}
interface RunningRow {
  batch_key: number
  key: number
  started: number
  last_seen: number
  epochs: number
  planned: Record<string, unknown> | null
  step_unit: string | null
  max_epoch: number | null
}
/** Of a running job. */
interface EpochsRow {
  job_key: number
  first_epoch: number | null
  first_at: number | null
  middle_epoch: number | null
  middle_at: number | null
  recent_epochs: number[] | null
  recent_times: number[] | null
}
interface EndedRow {
  batch_key: number
  started: number
  ended: number
  last_epoch: number | null
  completed: boolean
}

async function loadFacts(db: Db, keys: number[], clock: Clock): Promise<Map<number, BatchFacts>> {
  const ms = (column: string) => db.unsafe(`(extract(epoch from ${column}) * 1000)::float8`)
  const [batches, running, ended] = await Promise.all([
    db<BatchRow[]>`/* eta.batches */
      select b.key, b.n_total, p.n_jobs, p.n_completed, ${ms('p.last_seen_at')} last_seen,
        p.last_seen_at, p.last_live_at, ${db.unsafe(eventSkews('p'))} event_skews,
        (select coalesce(sum(e.epochs), 0) from (
          select epochs from job_progress where batch_key = b.key and epochs > 0 limit 3) e) epochs
      from batches b join batch_progress p on p.batch_key = b.key
      where b.key = any (${keys}::bigint[]) and b.status = 'running'`,
    db<RunningRow[]>`/* eta.running */
      select j.batch_key, j.key, ${ms('j.started_at')} started, ${ms('p.last_seen_at')} last_seen, p.epochs,
        (select jsonb_object_agg(n, j.params -> n) from unnest(${[...PLANNED_PARAMS]}::text[]) n where j.params ? n) planned, j.step_unit, coalesce(p.max_step, p.max_epoch) max_epoch
      from batches b
      cross join lateral (
        select * from jobs where batch_key = b.key and status = 'running'
        order by started_at desc, key desc limit ${MAX_RUNNING}) j
      join job_progress p on p.job_key = j.key
      where b.key = any (${keys}::bigint[]) and b.status = 'running'`,
    db<EndedRow[]>`/* eta.ended */
      select j.batch_key, ${ms('j.started_at')} started, ${ms('j.ended_at')} ended, coalesce(p.max_step, p.max_epoch) last_epoch,
        j.status = 'completed' completed
      from batches b
      cross join lateral (
        select * from jobs where batch_key = b.key and status <> 'running' and ended_at is not null
        order by started_at desc, key desc limit ${MAX_ENDED}) j
      join job_progress p on p.job_key = j.key
      where b.key = any (${keys}::bigint[]) and b.status = 'running'`,
  ])
  const places = running.map((row) => ({ batchKey: row.batch_key, jobKey: row.key, last: row.max_epoch }))
  const epochs = await byBatch(
    db,
    places,
    (own, batch) => db<EpochsRow[]>`/* eta.epochs */
      select u.job_key, f.step first_epoch, ${ms('f.ts')} first_at, m.step middle_epoch, ${ms('m.ts')} middle_at,
        r.epochs recent_epochs, r.times recent_times
      from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.jobKey)}::bigint[],
        ${own.map((job) => job.last)}::bigint[]) as u (batch_key, job_key, last)
      left join lateral (
        select epoch_high * 4294967296 + epoch step, ts from epochs where batch_key = ${batch} and job_key = u.job_key
        order by epoch_high, epoch limit 1) f on true
      cross join lateral (select f.step + (u.last - f.step) / 2 half) h
      left join lateral (
        select epoch_high * 4294967296 + epoch step, ts from epochs
        where batch_key = ${batch} and job_key = u.job_key
          and (epoch_high, epoch) >= ((h.half + 2147483648) >> 32, h.half - (((h.half + 2147483648) >> 32) << 32))
        order by epoch_high, epoch limit 1) m on true
      left join lateral (
        select array_agg(step order by step) epochs, array_agg(${ms('ts')} order by step) times
        from (
          select epoch_high * 4294967296 + epoch step, ts from epochs where batch_key = ${batch} and job_key = u.job_key
          order by epoch_high desc, epoch desc limit ${RECENT_EPOCHS}) e) r on true`,
    { onUnreachable: () => {} },
  )
  const epochsOf = new Map(epochs.map((row) => [row.job_key, row]))
  const facts = new Map<number, BatchFacts>()
  for (const b of batches) {
    if (isStalled({ status: 'running', aliveAt: aliveAt(b) }, clock)) continue
    // The times of its epochs are by its host's clock, so `now` is converted to that clock.
    const now = clock.now.getTime() - correctionMs(b.event_skews)
    facts.set(b.key, {
      now: now - b.last_seen > SILENT_MS ? b.last_seen : now,
      nTotal: b.n_total,
      nStarted: b.n_jobs,
      nCompleted: b.n_completed,
      epochs: Number(b.epochs),
      running: [],
      ended: [],
    })
  }
  for (const row of running) facts.get(row.batch_key)?.running.push(runningJob(row, epochsOf.get(row.key)))
  for (const { batch_key, started, ended: endedAt, last_epoch, completed } of ended) {
    const job: EndedJob = { startedAt: started, endedAt, lastEpoch: last_epoch, completed }
    facts.get(batch_key)?.ended.push(job)
  }
  return facts
}

function runningJob(row: RunningRow, epochs: EpochsRow | undefined): RunningJob {
  const time = (epoch: number | null | undefined, at: number | null | undefined) =>
    epoch == null || at == null ? null : { epoch, at }
  return {
    key: row.key,
    startedAt: row.started,
    lastSeenAt: row.last_seen,
    epochs: row.epochs,
    planned: plannedLengths(row.planned ?? {}, row.step_unit),
    first: time(epochs?.first_epoch, epochs?.first_at),
    middle: time(epochs?.middle_epoch, epochs?.middle_at),
    recent: (epochs?.recent_epochs ?? []).map((epoch, i) => ({
      epoch,
      at: epochs?.recent_times?.[i] ?? Number.NaN,
    })),
  }
}

/** All jobs of a batch, in the order of their creation. */
export const jobIdsOf = (
  db: Db,
  batchKey: number,
): Promise<readonly { key: number; id: string; status: string }[]> =>
  db<{ key: number; id: string; status: string }[]>`/* eta.job_ids */
    select key, id, status from jobs where batch_key = ${batchKey} order by key`
