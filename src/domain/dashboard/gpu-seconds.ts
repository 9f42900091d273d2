import { byBatch } from '../../db/by-batch.ts'
import type { Db } from '../../db/sql.ts'
import { IDLE_BELOW_PCT } from '../resources/index.ts'

export interface GpuSeconds {
  used: number
  idle: number
}

/**
 * How long GPUs were used and idle in these batches, in seconds. Each snapshot counts until the next one of the same
 * job (or of the batch), but at most two of its usual intervals, so that a gap is not counted as hours. Late snapshots
 * may fall between others, so the sums of a batch are recomputed when it changes.
 * @param onUnreachable is called with the keys of batches whose worker cannot be reached, which are left out; without it that is
 *   an error
 */
export async function sumSnapshots(
  db: Db,
  batchKeys: number[],
  now: Date,
  onUnreachable?: (batchKeys: readonly number[]) => void,
): Promise<Map<number, GpuSeconds>> {
  const ends = await db<{ batchKey: number; endedAt: string | null }[]>`/* gpu_hours.ends */
    select key "batchKey", ended_at "endedAt" from batches where key = any (${batchKeys}::bigint[])`
  const rows = await byBatch(
    db,
    ends,
    (own, batch) => db<{ key: number; used: number; idle: number }[]>`/* gpu_hours.sum */
    with seen as (
      select s.batch_key, s.job_key, s.ts, s.gpu_util_pct, s.gpus,
        extract(epoch from lead(s.ts) over stream - s.ts)::float8 gap,
        extract(epoch from coalesce(u.ended_at, ${now.toISOString()}::timestamptz) - s.ts)::float8 open_end
      from unnest(${own.map((end) => end.batchKey)}::bigint[], ${own.map((end) => end.endedAt)}::timestamptz[]) as u (batch_key, ended_at)
      join resource_snapshots s on s.batch_key = ${batch}
      where (s.gpu_util_pct is not null or s.gpus is not null)
      window stream as (partition by s.batch_key, s.job_key order by s.ts, s.db_id)),
    usual as (
      select batch_key, job_key,
        coalesce(percentile_cont(0.5) within group (order by gap) filter (where gap > 0), 30) gap
      from seen group by batch_key, job_key),
    lasting as (
      select s.batch_key, s.gpu_util_pct, s.gpus,
        least(coalesce(s.gap, greatest(s.open_end, 0)), 2 * u.gap) seconds
      from seen s join usual u on u.batch_key = s.batch_key and u.job_key is not distinct from s.job_key),
    single as (
      select l.batch_key, l.seconds, coalesce((g.gpu ->> 'util_pct')::float8, l.gpu_util_pct) util
      from lasting l
      left join lateral jsonb_array_elements(l.gpus) as g (gpu) on true)
    select batch_key key, coalesce(sum(seconds) filter (where util >= ${IDLE_BELOW_PCT}), 0) used,
      coalesce(sum(seconds) filter (where util < ${IDLE_BELOW_PCT}), 0) idle
    from single where util <> 'NaN' group by batch_key`,
    onUnreachable === undefined
      ? {}
      : { onUnreachable: (own) => onUnreachable(own.map(({ batchKey }) => batchKey)) },
  )
  const archived = await db<{ key: number; used: number; idle: number }[]>`/* gpu_hours.archived */
    select batch_key key, gpu_used_s used, gpu_idle_s idle from cold_batches
    where state = 'cold' and batch_key = any (${batchKeys}::bigint[])`
  return new Map([...rows, ...archived].map(({ key, used, idle }) => [key, { used, idle }]))
}
