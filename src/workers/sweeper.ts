import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { openPool } from '../db/pool.ts'
import { openSql, POINT_LOOKUPS, type Sql, type Tx } from '../db/sql.ts'
import {
  batchesToEmpty,
  type Cutoffs,
  countDue,
  countPurgeable,
  cutoffsOf,
  emptyBatch,
  eventRange,
  forgetBatches,
  KINDS,
  type Kind,
  LEFTOVERS,
  markPurged,
  noteSwept,
  PASSES,
  purgePayloads,
  RANGES,
  type RangeSizes,
  type RetentionDays,
  rangesDue,
  STEPS,
  type StepSizes,
  sweepSlice,
} from '../domain/retention/index.ts'
import { commit, createWriter, type Writer } from '../stream/commit.ts'
import { countPrunable, pruneChanges } from '../stream/prune.ts'
import { runAlone } from './background.ts'

/**
 * Removes what is past its time (specification §1.7, §6.5; contract §7), in transactions of some thousand rows with a
 * pause after each, so that ingest goes on beside it. Each step is atomic: after an interruption the next sweep
 * continues from there.
 */
export interface Sweeper {
  /** @returns how many of each kind went; fewer when `signal` ended it */
  sweep(signal: AbortSignal): Promise<Record<Kind, number>>
  /** What a sweep would remove now; changes nothing. Null: of no project. */
  survey(): Promise<{ kind: Kind; project: string | null; n: number }[]>
  close(): Promise<void>
}

export interface SweepOptions {
  url: string
  log: Logger
  days: RetentionDays
  /** The moment by which data is past its time. Default: the database's clock at the start of each sweep. */
  now?: () => Date
  /** The clock of this machine, which must agree with the database's. */
  hostNow?: () => Date
  /** Smaller in tests. */
  stretches?: RangeSizes
  steps?: StepSizes
}

/** The cron task, and the lock that a sweep holds. */
export const SWEEP_TASK = 'sweep'

const MIN_PAUSE_MS = 5
const TELL_EVERY_MS = 10_000
/** Batches whose events are looked for together. */
const BATCHES_AT_ONCE = 20

export function createSweeper(options: SweepOptions): Sweeper {
  const { log, days } = options
  const stretches = options.stretches ?? RANGES
  const steps = options.steps ?? STEPS
  // Its statements are look-ups by key, however large the tables are.
  const sql = openSql(options.url, { name: 'sweep', max: 2, settings: POINT_LOOKUPS })
  const writer = createWriter(sql)

  async function cutoffs(): Promise<Cutoffs> {
    const databaseNow = await agreedTime(sql, options.hostNow ?? (() => new Date()))
    return cutoffsOf(days, options.now?.() ?? databaseNow)
  }

  return {
    async sweep(signal) {
      const due = await cutoffs()
      const round = createRound({
        sql,
        writer,
        log,
        cutoffs: due,
        stretches,
        steps,
        signal,
      })
      const failures: unknown[] = []
      for (const part of [round.payloads, round.deletedBatches, round.leftovers, round.changes]) {
        // One part that fails does not keep the others from their work.
        await part().catch((error) => failures.push(error))
        if (signal.aborted) break
      }
      log.info(
        {
          ...round.done,
          longestMs: Math.round(round.longestMs()),
          ...(signal.aborted && { ended: 'early' }),
        },
        'sweep: what went',
      )
      if (failures.length === 1) throw failures[0]
      if (failures.length > 1) throw new AggregateError(failures, 'several parts of the sweep failed')
      return round.done
    },
    survey: async () => survey(sql, await cutoffs(), stretches),
    close: () => sql.end({ timeout: 5 }),
  }
}

/**
 * The database's time, if this machine has about the same. One of two clocks that differ is wrong, and nothing says
 * which: by a clock that is weeks ahead, everything would be past its time.
 * @throws Error with one line for the operator
 */
async function agreedTime(sql: Sql, hostNow: () => Date): Promise<Date> {
  const before = hostNow().getTime()
  const [row] = await sql<{ ms: number }[]>`/* sweep.clock */
    select (extract(epoch from clock_timestamp()) * 1000)::float8 ms`
  if (row === undefined) throw new Error('the database did not tell its time')
  // The database answered somewhere between the two: a slow answer is no difference.
  const aheadMs = Math.max(before - row.ms, row.ms - hostNow().getTime())
  if (aheadMs > MAX_SKEW_MS) {
    throw new Error(
      `nothing was deleted: the clock of this machine (${new Date(before).toISOString()}) and that of the database (${new Date(row.ms).toISOString()}) differ by more than 5 minutes. Set the one that is wrong (chrony, ntpd)`,
    )
  }
  return new Date(row.ms)
}
const MAX_SKEW_MS = 5 * 60_000

/**
 * One sweep from outside of a server.
 * @returns how many of each kind went; undefined while a server sweeps
 */
export async function sweepAlone(
  sweeper: Sweeper,
  { url, log }: Pick<SweepOptions, 'url' | 'log'>,
  signal: AbortSignal,
): Promise<Record<Kind, number> | undefined> {
  const failed = (err: unknown): void => log.warn({ err }, 'a connection broke')
  const pool = openPool(url, { name: 'sweep lock', max: 1, failed })
  try {
    let done: Record<Kind, number> | undefined
    await runAlone(pool, { name: SWEEP_TASK, wait: false }, signal, async (until) => {
      done = await sweeper.sweep(until)
    })
    return done
  } finally {
    await pool.end()
  }
}

interface RoundOptions {
  sql: Sql
  writer: Writer
  log: Logger
  cutoffs: Cutoffs
  stretches: RangeSizes
  steps: StepSizes
  signal: AbortSignal
}

function createRound({ sql, writer, log, cutoffs, stretches, steps, signal }: RoundOptions) {
  const done = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<Kind, number>
  let toldAt = performance.now()
  let longestMs = 0

  /** One step in a transaction of its own, and a pause as long as it took: half of the time is left to others. */
  async function step<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const begun = performance.now()
    const result = await commit(writer, async (tx) => ({ result: await work(tx), changes: [] }))
    const ended = performance.now()
    longestMs = Math.max(longestMs, ended - begun)
    if (ended - toldAt > TELL_EVERY_MS) {
      toldAt = ended
      log.info({ ...done }, 'sweep: so far')
    }
    await sleep(Math.max(MIN_PAUSE_MS, ended - begun), undefined, { signal }).catch(() => {})
    return result
  }

  async function payloads(): Promise<void> {
    for (const stretch of await rangesDue(sql, cutoffs, stretches)) {
      const left: { oldestLine: string | null; oldestOther: string | null } = {
        oldestLine: null,
        oldestOther: null,
      }
      const end = (stretch + 1) * stretches.ids
      for (let from = stretch * stretches.ids, to = end; from < end; from = to, to = end) {
        for (const perPage of PASSES) {
          if (signal.aborted) return
          const slice = { from, to, perPage }
          const swept = await step((tx) => sweepSlice(tx, slice, cutoffs, stretches))
          done.log_lines += swept.lines
          done.event_payloads += swept.payloads
          left.oldestLine = earlier(left.oldestLine, swept.oldestLine)
          left.oldestOther = earlier(left.oldestOther, swept.oldestOther)
          to = swept.next ?? to
          if (!swept.unfinished) break
        }
      }
      await step((tx) => noteSwept(tx, stretch, left, stretches))
    }
  }

  async function deletedBatches(): Promise<void> {
    while (!signal.aborted && (await step((tx) => markPurged(tx, cutoffs, BATCHES_AT_ONCE))) > 0);
    for (;;) {
      const batches = await batchesToEmpty(sql, BATCHES_AT_ONCE)
      if (batches.length === 0) return
      for (const { key } of batches) {
        if (!(await emptyBatch(key, step, () => signal.aborted, steps))) return
      }
      const keys = batches.map((batch) => batch.key)
      const range = await eventRange(sql, keys)
      for (let from = range?.first ?? 0; range !== null && from <= range.last; from += steps.ids) {
        if (signal.aborted) return
        await step((tx) => purgePayloads(tx, keys, from, from + steps.ids))
      }
      await step((tx) => forgetBatches(tx, keys, cutoffs.now))
      done.deleted_batches += keys.length
      log.info({ batches: batches.map(({ id, project }) => `${project}/${id}`) }, 'sweep: batches purged')
    }
  }

  async function leftovers(): Promise<void> {
    for (const { kind, step: remove } of LEFTOVERS) {
      let went: number
      do {
        if (signal.aborted) return
        went = await step((tx) => remove(tx, cutoffs, steps.rows))
        done[kind] += went
      } while (went > 0)
    }
  }

  async function changes(): Promise<void> {
    done.changes += await pruneChanges(writer)
  }

  return { done, longestMs: () => longestMs, payloads, deletedBatches, leftovers, changes }
}

/** Instants as shown have fractions of several lengths, so they are compared as times first. */
function earlier(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b
  return Date.parse(b) < Date.parse(a) ? b : a
}

async function survey(
  sql: Sql,
  cutoffs: Cutoffs,
  sizes: RangeSizes,
): Promise<{ kind: Kind; project: string | null; n: number }[]> {
  const found: { kind: Kind; project: string | null; n: number }[] = []
  const byProject = new Map<string, { lines: number; payloads: number }>()
  for (const stretch of await rangesDue(sql, cutoffs, sizes)) {
    for (const { project, lines, payloads } of await countDue(sql, stretch, cutoffs, sizes)) {
      const sum = byProject.get(project) ?? { lines: 0, payloads: 0 }
      byProject.set(project, { lines: sum.lines + lines, payloads: sum.payloads + payloads })
    }
  }
  for (const [project, { lines, payloads }] of [...byProject].sort(([a], [b]) => (a < b ? -1 : 1))) {
    found.push({ kind: 'log_lines', project, n: lines }, { kind: 'event_payloads', project, n: payloads })
  }
  for (const { project, n } of await countPurgeable(sql, cutoffs))
    found.push({ kind: 'deleted_batches', project, n })
  for (const { kind, count } of LEFTOVERS) found.push({ kind, project: null, n: await count(sql, cutoffs) })
  found.push({ kind: 'changes', project: null, n: await countPrunable(sql) })
  return found.filter(({ n }) => n > 0).sort((a, b) => KINDS.indexOf(a.kind) - KINDS.indexOf(b.kind))
}
