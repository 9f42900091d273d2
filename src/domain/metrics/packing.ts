import { byBatch } from '../../db/by-batch.ts'
import { commitInTwoPhases, lockOnWorkers } from '../../db/cluster.ts'
import type { Db, Tx } from '../../db/sql.ts'
import { highOf, lowOf } from '../step.ts'
import { touchBatch } from '../touch-batch.ts'
import { TIMES } from './chunks.ts'

/**
 * Packs epochs into metric_chunks, which charts and exports read a hundred times faster. Chunks are copies of `epochs`;
 * if a packed epoch changes, ingest deletes the job's chunks and they are built again. All of this happens under the
 * batch's lock, in statements that are too short to delay ingest.
 */

export interface PackingSizes {
  /** Points of one chunk: 8,000 bytes fit on a page. */
  chunk: number
  /** Values of one transaction, which takes some tens of milliseconds. */
  mostValues: number
  /** Jobs with fewer epochs are not packed: their epochs are read as fast. */
  worthPacking: number
  /**
   * A running job is packed when this many epochs are unpacked, except the last ones, which may still be merged into.
   */
  runningWaits: number
  runningKeeps: number
}

/** Below every step: packs from the first one. */
const BELOW_ALL = Number.MIN_SAFE_INTEGER - 1

export const PACKING_SIZES: PackingSizes = {
  chunk: 1_000,
  mostValues: 50_000,
  worthPacking: 16,
  runningWaits: 320,
  runningKeeps: 64,
}

export interface Packable {
  jobKey: number
  batchKey: number
  /** Whether nothing of it is packed: a new job, or one whose chunks were deleted. */
  unpacked: boolean
}

/** Jobs with a key in the range that are worth packing. */
export async function findPackable(
  db: Db,
  keys: { from: number; to: number },
  limit: number,
  sizes: PackingSizes = PACKING_SIZES,
): Promise<readonly Packable[]> {
  const found = await db<(Packable & Waiting)[]>`/* packing.find */
    select p.job_key "jobKey", p.batch_key "batchKey", coalesce(p.packed_step, p.packed_to) is null unpacked, coalesce(p.packed_step, p.packed_to) "packedTo",
      j.status = 'running' and b.status = 'running' running
    from job_progress p join jobs j on j.key = p.job_key join batches b on b.key = p.batch_key and b.cold_at is null
    where p.job_key between ${keys.from} and ${keys.to} and p.epochs >= ${sizes.worthPacking}
      and coalesce(p.max_step, p.max_epoch) is not null and (coalesce(p.packed_step, p.packed_to) is null or coalesce(p.max_step, p.max_epoch) > coalesce(p.packed_step, p.packed_to))
      and (j.status <> 'running' or b.status <> 'running' or p.epochs >= ${sizes.runningWaits}
        and (coalesce(p.packed_step, p.packed_to) is null or coalesce(p.max_step, p.max_epoch) - coalesce(p.packed_step, p.packed_to) >= ${sizes.runningWaits}))
    order by p.batch_key, p.job_key
    limit ${limit * 4}`
  const due = await worthPacking(db, found, sizes)
  return found
    .filter((job) => due.has(job.jobKey))
    .slice(0, limit)
    .map(({ jobKey, batchKey, unpacked }) => ({ jobKey, batchKey, unpacked }))
}

interface Waiting {
  batchKey: number
  jobKey: number
  packedTo: number | null
  /** Whether epochs may still come: neither the job nor its batch has ended. */
  running: boolean
}

/** The jobs that have ended, or have enough unpacked epochs. */
async function worthPacking(
  db: Db,
  jobs: readonly Waiting[],
  sizes: PackingSizes,
): Promise<ReadonlySet<number>> {
  const over = jobs.filter((job) => !job.running).map((job) => job.jobKey)
  const waiting = await byBatch(
    db,
    jobs.filter((job) => job.running),
    (own, batch) => db<{ job_key: number }[]>`/* packing.waiting */
      select u.job_key
      from unnest(${own.map((job) => job.batchKey)}::bigint[], ${own.map((job) => job.jobKey)}::bigint[],
        ${own.map((job) => highOf(job.packedTo ?? BELOW_ALL))}::int[], ${own.map((job) => lowOf(job.packedTo ?? BELOW_ALL))}::int[])
        as u (batch_key, job_key, high, low)
      cross join lateral (
        select count(*) n from (
          select 1 from epochs
          where batch_key = ${batch} and job_key = u.job_key and (epoch_high, epoch) > (u.high, u.low)
          limit ${sizes.runningWaits}) e) w
      where w.n >= ${sizes.runningWaits}`,
  )
  return new Set([...over, ...waiting.map((job) => job.job_key)])
}

export async function newestJobKey(db: Db): Promise<number> {
  const [row] = await db<{ newest: number | null }[]>`/* packing.newest */
    select max(job_key) newest from job_progress`
  return row?.newest ?? 0
}

interface Plan extends Waiting {
  series: number
  /** Its last chunk. */
  lastFirst: number | null
  lastN: number | null
}

async function planJobs(
  tx: Tx,
  batchKey: number,
  jobKeys: readonly number[],
  sizes: PackingSizes,
): Promise<Plan[]> {
  const jobs = await tx<(Waiting & { series: number })[]>`/* packing.plan */
    select p.batch_key "batchKey", p.job_key "jobKey", cardinality(p.series) series, j.status = 'running' and b.status = 'running' running,
      coalesce(p.packed_step, p.packed_to) "packedTo"
    from job_progress p join jobs j on j.key = p.job_key join batches b on b.key = p.batch_key and b.cold_at is null
    where p.batch_key = ${batchKey} and p.job_key = any (${[...jobKeys]}::bigint[])
      and coalesce(p.max_step, p.max_epoch) is not null and (coalesce(p.packed_step, p.packed_to) is null or coalesce(p.max_step, p.max_epoch) > coalesce(p.packed_step, p.packed_to))
    order by p.job_key`
  const due = await worthPacking(tx, jobs, sizes)
  const packed = jobs.flatMap((job) => (job.packedTo === null ? [] : job.jobKey))
  const lasts = await tx<{ job_key: number; first: number; n: number }[]>`/* packing.last_chunks */
    select u.job_key, c.first, c.n from unnest(${packed}::bigint[]) as u (job_key)
    cross join lateral (
      select first_high * 4294967296 + first_epoch first, n from metric_chunks
      where batch_key = ${batchKey} and job_key = u.job_key and series_no = ${TIMES}
      order by first_high desc, first_epoch desc limit 1) c`
  const lastOf = new Map(lasts.map((last) => [last.job_key, last]))
  return jobs
    .filter((job) => due.has(job.jobKey))
    .map((job) => {
      const last = lastOf.get(job.jobKey)
      return { ...job, lastFirst: last?.first ?? null, lastN: last?.n ?? null }
    })
}

/**
 * Packs jobs of one batch, as many as fit into one transaction.
 * @param begun jobs that this round has begun to pack; one of them whose chunks were dissolved meanwhile is left out
 * @returns the remaining jobs
 */
export async function packJobs(
  tx: Tx,
  batchKey: number,
  jobKeys: readonly number[],
  sizes: PackingSizes = PACKING_SIZES,
  begun = new Set<number>(),
): Promise<number[]> {
  // Updated, not only locked: a server that has the batch's jobs in its cache must read them again.
  await touchBatch(tx, batchKey)
  await commitInTwoPhases(tx)
  await lockOnWorkers(tx, [batchKey])
  const plans = await planJobs(tx, batchKey, jobKeys, sizes)
  let left = sizes.mostValues
  const undone: number[] = []
  for (const plan of plans) {
    if (plan.packedTo === null && begun.has(plan.jobKey)) continue
    if (left <= 0) {
      undone.push(plan.jobKey)
      continue
    }
    begun.add(plan.jobKey)
    const values = plan.series + 1
    // A job of very many series gets shorter chunks, so that one transaction stays short.
    const chunk = Math.min(sizes.chunk, Math.max(sizes.runningKeeps, Math.floor(sizes.mostValues / values)))
    let at = plan
    let full = true
    while (full && left > 0) {
      const { packed, packedTo } = await packChunk(tx, at, chunk, plan.running ? sizes.runningKeeps : 0)
      left -= Math.max(1, packed) * values
      full = packed === chunk
      at = { ...at, packedTo, lastFirst: null, lastN: null }
    }
    if (full) undone.push(plan.jobKey)
  }
  return undone
}

/**
 * Packs the next epochs of a job, as many as a chunk has; a last chunk that is not full is replaced by a longer one.
 *
 * Each series is one pass over the epochs, which lie in order: sorting every value into its series, as grouping would,
 * takes twice as long.
 */
async function packChunk(
  tx: Tx,
  plan: Plan,
  chunk: number,
  keep: number,
): Promise<{ packed: number; packedTo: number | null }> {
  const { batchKey, jobKey, series, lastFirst, lastN } = plan
  const extend = lastFirst !== null && lastN !== null && lastN < chunk
  const start = extend ? lastFirst : (plan.packedTo ?? BELOW_ALL) + 1
  if (extend) {
    await tx`/* packing.reopen */
      delete from metric_chunks where batch_key = ${batchKey} and job_key = ${jobKey}
        and (first_high, first_epoch) >= (${highOf(lastFirst)}, ${lowOf(lastFirst)})`
  }
  const [picked] = await tx<{ packed: number; last: number | null }[]>`/* packing.pick */
    with ahead as materialized (
      select epoch_high * 4294967296 + epoch step from epochs
      where batch_key = ${batchKey} and job_key = ${jobKey} and (epoch_high, epoch) >= (${highOf(start)}, ${lowOf(start)})
      order by epoch_high, epoch limit ${chunk + keep})
    select count(*)::int packed, max(step) as last from (
      select step from ahead order by step
      limit greatest(0, least(${chunk}::bigint, (select count(*) from ahead) - ${keep}::bigint))) picked`
  const { packed, last } = picked ?? { packed: 0, last: null }
  if (last === null) return { packed: 0, packedTo: plan.packedTo }
  await tx`/* packing.pack */
    insert into metric_chunks (batch_key, job_key, series_no, first_high, first_epoch, last_high, last_epoch, n, steps, vals)
    with picked as materialized (
      select epoch_high * 4294967296 + epoch step, ts, vals from epochs
      where batch_key = ${batchKey} and job_key = ${jobKey}
        and (epoch_high, epoch) between (${highOf(start)}, ${lowOf(start)}) and (${highOf(last)}, ${lowOf(last)})
      order by epoch_high, epoch)
    select ${batchKey}::bigint, ${jobKey}::bigint, s.no, m.first_high, (m.first - (m.first_high << 32))::int,
      m.last_high, (m.last - (m.last_high << 32))::int, m.n,
      case when m.last - m.first > m.n - 1
        then (select string_agg(case when m.first_high = 0 and m.last_high = 0 then int4send(step::int) else int8send(step) end, ''::bytea)
          from picked where s.no = ${TIMES} or vals[s.no + 1] is not null)
      end,
      m.packed
    from generate_series(${TIMES}::int, ${series - 1}::int) as s (no)
    cross join lateral (
      select min(step) as first, max(step) as last, count(*) as n, string_agg(float8send(val), ''::bytea) as packed,
        (min(step) + 2147483648) >> 32 as first_high, (max(step) + 2147483648) >> 32 as last_high
      from (
        select step,
          case when s.no = ${TIMES} then floor(extract(epoch from ts) * 1000)::float8 else vals[s.no + 1] end as val
        from picked) p
      where val is not null) m
    where m.n > 0`
  await tx`/* packing.note */ update job_progress set packed_step = ${last} where job_key = ${jobKey}`
  return { packed, packedTo: last }
}
