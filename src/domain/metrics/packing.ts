import type { Db, Tx } from '../../db/sql.ts'
import { TIMES } from './chunks.ts'

/**
 * Packs epochs into metric_chunks, where charts and exports read them a hundred times faster. Chunks repeat what
 * `epochs` contains; ingest drops a job's chunks when an epoch that is packed already changes, and they are built
 * again. All of it happens under the batch's lock, in statements short enough that ingest hardly notices.
 */

export interface PackingSizes {
  /** Points of one chunk: 8,000 bytes are what a page holds. */
  chunk: number
  /** Values of one transaction, some tens of milliseconds. */
  mostValues: number
  /** Shorter jobs are read from their epochs as fast. */
  worthPacking: number
  /** A running job is packed when so many epochs wait, but for the last: those may still be merged into. */
  runningWaits: number
  runningKeeps: number
}

export const PACKING_SIZES: PackingSizes = {
  chunk: 1_000,
  mostValues: 50_000,
  worthPacking: 16,
  runningWaits: 320,
  runningKeeps: 64,
}

/** Over a row `p` of job_progress: do enough epochs of a running job wait? */
const waiting = (db: Db, atLeast: number) => db`${atLeast} <= (
  select count(*) from (
    select from epochs e where e.job_key = p.job_key and e.epoch > coalesce(p.packed_to, -2147483649)
    limit ${atLeast}) e)`

export interface Packable {
  jobKey: number
  batchKey: number
  /** Nothing of it is packed: a new job, or one that lost its chunks. */
  unpacked: boolean
}

/** Jobs with a key in the range that have something worth packing. */
export function findPackable(
  db: Db,
  keys: { from: number; to: number },
  limit: number,
  sizes: PackingSizes = PACKING_SIZES,
): Promise<readonly Packable[]> {
  return db<Packable[]>`/* packing.find */
    select p.job_key "jobKey", p.batch_key "batchKey", p.packed_to is null unpacked
    from job_progress p join jobs j on j.key = p.job_key
    where p.job_key between ${keys.from} and ${keys.to} and p.epochs >= ${sizes.worthPacking}
      and p.max_epoch > coalesce(p.packed_to, -2147483649)
      and (j.status <> 'running' or p.epochs >= ${sizes.runningWaits} and ${waiting(db, sizes.runningWaits)})
    order by p.batch_key, p.job_key
    limit ${limit}`
}

export async function newestJobKey(db: Db): Promise<number> {
  const [row] = await db<{ newest: number | null }[]>`/* packing.newest */
    select max(job_key) newest from job_progress`
  return row?.newest ?? 0
}

interface Plan {
  job_key: number
  series: number
  running: boolean
  packed_to: number | null
  last_first: number | null
  last_n: number | null
}

/**
 * Packs jobs of one batch, as many as one transaction should.
 * @returns the jobs that are not done yet
 */
export async function packJobs(
  tx: Tx,
  batchKey: number,
  jobKeys: readonly number[],
  sizes: PackingSizes = PACKING_SIZES,
): Promise<number[]> {
  // Written, not only locked: a server that has the batch's jobs in its cache must read them again.
  await tx`/* packing.lock */ update batch_progress set last_seen_at = last_seen_at where batch_key = ${batchKey}`
  const plans = await tx<Plan[]>`/* packing.plan */
    select p.job_key, cardinality(p.series) series, j.status = 'running' running, p.packed_to,
      last.first_epoch last_first, last.n last_n
    from job_progress p
    join jobs j on j.key = p.job_key
    left join lateral (
      select c.first_epoch, c.n from metric_chunks c
      where c.job_key = p.job_key and c.series_no = ${TIMES} and p.packed_to is not null
      order by c.first_epoch desc limit 1) last on true
    where p.batch_key = ${batchKey} and p.job_key = any (${[...jobKeys]}::bigint[])
      and p.max_epoch > coalesce(p.packed_to, -2147483649) and (j.status <> 'running' or ${waiting(tx, sizes.runningWaits)})
    order by p.job_key`
  let left = sizes.mostValues
  const undone: number[] = []
  for (const plan of plans) {
    if (left <= 0) {
      undone.push(plan.job_key)
      continue
    }
    const values = plan.series + 1
    // A job of very many series gets shorter chunks, so that one transaction stays short.
    const chunk = Math.min(sizes.chunk, Math.max(sizes.runningKeeps, Math.floor(sizes.mostValues / values)))
    let at = plan
    let full = true
    while (full && left > 0) {
      const { packed, packedTo } = await packChunk(tx, at, chunk, plan.running ? sizes.runningKeeps : 0)
      left -= Math.max(1, packed) * values
      full = packed === chunk
      at = { ...at, packed_to: packedTo, last_first: null, last_n: null }
    }
    if (full) undone.push(plan.job_key)
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
  const { job_key: jobKey, series, last_first: lastFirst, last_n: lastN } = plan
  const extend = lastFirst !== null && lastN !== null && lastN < chunk
  const start = extend ? lastFirst : plan.packed_to === null ? -2_147_483_648 : plan.packed_to + 1
  if (extend) {
    await tx`/* packing.reopen */ delete from metric_chunks where job_key = ${jobKey} and first_epoch >= ${lastFirst}`
  }
  const [done] = await tx<{ packed: number; packed_to: number | null }[]>`/* packing.pack */
    with ahead as materialized (
      select epoch, ts, vals from epochs where job_key = ${jobKey} and epoch >= ${start}::bigint
      order by epoch limit ${chunk + keep}),
    picked as materialized (
      select epoch, ts, vals from ahead limit greatest(0, least(${chunk}::bigint, (select count(*) from ahead) - ${keep}::bigint))),
    made as (
      insert into metric_chunks (job_key, series_no, first_epoch, last_epoch, n, steps, vals)
      select ${jobKey}, s.no, m.first, m.last, m.n,
        case when m.last::bigint - m.first > m.n - 1
          then (select string_agg(int4send(epoch), ''::bytea) from picked where s.no = ${TIMES} or vals[s.no + 1] is not null)
        end,
        m.packed
      from generate_series(${TIMES}::int, ${series - 1}::int) as s (no)
      cross join lateral (
        select min(epoch) as first, max(epoch) as last, count(*) as n, string_agg(float8send(val), ''::bytea) as packed
        from (
          select epoch,
            case when s.no = ${TIMES} then floor(extract(epoch from ts) * 1000)::float8 else vals[s.no + 1] end as val
          from picked) p
        where val is not null) m
      where m.n > 0),
    noted as (
      update job_progress set packed_to = (select max(epoch) from picked)
      where job_key = ${jobKey} and exists (select from picked))
    select count(*)::int packed, max(epoch) packed_to from picked`
  return { packed: done?.packed ?? 0, packedTo: done?.packed_to ?? plan.packed_to }
}
