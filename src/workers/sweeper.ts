import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { openPool } from '../db/pool.ts'
import { openSql, POINT_LOOKUPS, type Sql, type Tx } from '../db/sql.ts'
import { markUnreferenced, removeObjects } from '../domain/files/index.ts'
import {
  batchesToEmpty,
  batchesWithArchivedLines,
  type Cutoffs,
  countArchivedLines,
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
  sweepArchivedLines,
  sweepSlice,
} from '../domain/retention/index.ts'
import type { ObjectStore } from '../storage/index.ts'
import { createWriter, type Writer, write } from '../stream/commit.ts'
import { countPrunable, pruneChanges } from '../stream/prune.ts'
import { runExclusively } from './background.ts'

/**
 * The retention sweep: removes data older than its retention period (specification §1.7, §6.5; contract §7), in
 * transactions of some thousand rows with a pause after each, so that ingest can continue. Each step is atomic: after
 * an interruption the next sweep continues from there.
 */
export interface Sweeper {
  /** @returns how many of each kind were removed; incomplete if `signal` was aborted */
  sweep(signal: AbortSignal): Promise<Record<Kind, number>>
  /** What a sweep would remove now; changes nothing. `project` is null for data that belongs to no project. */
  survey(): Promise<{ kind: Kind; project: string | null; n: number }[]>
  close(): Promise<void>
}

export interface SweepOptions {
  url: string
  log: Logger
  days: RetentionDays
  /** The store of files; without it objects are only noted for removal. */
  files?: () => Promise<ObjectStore>
  /** The time by which data is compared. Default: the database's clock at the start of each sweep. */
  now?: () => Date
  /** The clock of this machine, which must agree with the database's. */
  hostNow?: () => Date
  /** Tests use smaller sizes. */
  ranges?: RangeSizes
  steps?: StepSizes
}

/** The name of the cron task, and of the lock that a sweep holds. */
export const SWEEP_TASK = 'sweep'

const MIN_PAUSE_MS = 5
const PROGRESS_MS = 10_000
/** Batches whose events are looked up together. */
const BATCHES_AT_ONCE = 20

export function createSweeper(options: SweepOptions): Sweeper {
  const { log, days } = options
  const ranges = options.ranges ?? RANGES
  const steps = options.steps ?? STEPS
  // Its statements are look-ups by key, regardless of table sizes.
  const sql = openSql(options.url, { name: 'sweep', max: 2, settings: POINT_LOOKUPS })
  const writer = createWriter(sql)

  async function cutoffs(): Promise<Cutoffs> {
    const databaseNow = await checkedDatabaseTime(sql, options.hostNow ?? (() => new Date()))
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
        ranges,
        steps,
        signal,
        ...(options.files && { files: options.files }),
      })
      const failures: unknown[] = []
      for (const part of [round.payloads, round.deletedBatches, round.leftovers, round.changes]) {
        // If one part fails, the others still run.
        await part().catch((error) => failures.push(error))
        if (signal.aborted) break
      }
      log.info(
        {
          ...round.done,
          longestMs: Math.round(round.longestMs()),
          ...(signal.aborted && { ended: 'early' }),
        },
        'sweep: removed',
      )
      if (failures.length === 1) throw failures[0]
      if (failures.length > 1) throw new AggregateError(failures, 'several parts of the sweep failed')
      return round.done
    },
    survey: async () => survey(sql, await cutoffs(), ranges),
    close: () => sql.end({ timeout: 5 }),
  }
}

/**
 * The database's time, if this machine's clock roughly agrees. If two clocks differ, one is wrong, and it is unknown
 * which: by a clock that is weeks ahead, all data would be expired.
 * @throws Error with one line for the operator
 */
async function checkedDatabaseTime(sql: Sql, hostNow: () => Date): Promise<Date> {
  const before = hostNow().getTime()
  const [row] = await sql<{ ms: number }[]>`/* sweep.clock */
    select (extract(epoch from clock_timestamp()) * 1000)::float8 ms`
  if (row === undefined) throw new Error('the database did not tell its time')
  // The database answered between the two readings, so a slow answer does not count as a difference.
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
 * Runs one sweep outside of a server.
 * @returns how many of each kind were removed; undefined while a server sweeps
 */
export async function sweepExclusively(
  sweeper: Sweeper,
  { url, log }: Pick<SweepOptions, 'url' | 'log'>,
  signal: AbortSignal,
): Promise<Record<Kind, number> | undefined> {
  const failed = (err: unknown): void => log.warn({ err }, 'a connection broke')
  const pool = openPool(url, { name: 'sweep lock', max: 1, failed })
  try {
    let done: Record<Kind, number> | undefined
    await runExclusively(pool, { name: SWEEP_TASK, wait: false }, signal, async (until) => {
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
  ranges: RangeSizes
  steps: StepSizes
  signal: AbortSignal
  files?: () => Promise<ObjectStore>
}

function createRound({ sql, writer, log, cutoffs, ranges, steps, signal, files }: RoundOptions) {
  const done = Object.fromEntries(KINDS.map((kind) => [kind, 0])) as Record<Kind, number>
  let reportedAt = performance.now()
  let longestMs = 0

  /** Runs one step in its own transaction, and pauses for as long as it took, to leave half of the time to others. */
  async function step<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const begun = performance.now()
    const result = await write(writer, work)
    const ended = performance.now()
    longestMs = Math.max(longestMs, ended - begun)
    if (ended - reportedAt > PROGRESS_MS) {
      reportedAt = ended
      log.info({ ...done }, 'sweep: so far')
    }
    await sleep(Math.max(MIN_PAUSE_MS, ended - begun), undefined, { signal }).catch(() => {})
    return result
  }

  async function payloads(): Promise<void> {
    for (const range of await rangesDue(sql, cutoffs, ranges)) {
      const left: { oldestLine: string | null; oldestOther: string | null } = {
        oldestLine: null,
        oldestOther: null,
      }
      const end = (range + 1) * ranges.ids
      for (let from = range * ranges.ids, to = end; from < end; from = to, to = end) {
        for (const perPage of PASSES) {
          if (signal.aborted) return
          const slice = { from, to, perPage }
          const swept = await step((tx) => sweepSlice(tx, slice, cutoffs, ranges))
          done.log_lines += swept.lines
          done.event_payloads += swept.payloads
          left.oldestLine = earliest(left.oldestLine, swept.oldestLine)
          left.oldestOther = earliest(left.oldestOther, swept.oldestOther)
          to = swept.next ?? to
          if (!swept.unfinished) break
        }
      }
      await step((tx) => noteSwept(tx, range, left, ranges))
    }
    done.log_lines += await sweepArchivedLines(sql, cutoffs, step, { rows: steps.rows, signal })
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
    await step((tx) => markUnreferenced(tx, cutoffs.now))
    for (const { kind, step: remove } of LEFTOVERS) {
      let removed: number
      do {
        if (signal.aborted) return
        removed = await step((tx) => remove(tx, cutoffs, steps.rows))
        done[kind] += removed
      } while (removed > 0)
    }
    if (files !== undefined) await removeObjects(sql, files, signal)
  }

  async function changes(): Promise<void> {
    done.changes += await pruneChanges(writer)
  }

  return {
    done,
    longestMs: () => longestMs,
    payloads,
    deletedBatches,
    leftovers,
    changes,
  }
}

/** Instants in shown form have fractions of different lengths, so they are compared as times. */
function earliest(a: string | null, b: string | null): string | null {
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
  for (const range of await rangesDue(sql, cutoffs, sizes)) {
    for (const { project, lines, payloads } of await countDue(sql, range, cutoffs, sizes)) {
      const sum = byProject.get(project) ?? { lines: 0, payloads: 0 }
      byProject.set(project, { lines: sum.lines + lines, payloads: sum.payloads + payloads })
    }
  }
  for (const { key, project } of await batchesWithArchivedLines(sql, cutoffs)) {
    const sum = byProject.get(project) ?? { lines: 0, payloads: 0 }
    byProject.set(project, { ...sum, lines: sum.lines + (await countArchivedLines(sql, key, cutoffs)) })
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
