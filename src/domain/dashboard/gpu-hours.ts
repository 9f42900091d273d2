import type { Db } from '../../db/sql.ts'
import { IDLE_BELOW_PCT } from '../resources/index.ts'

/**
 * How long GPUs were used and idle, from the snapshots: each counts until the next one of the same job (or of the
 * batch), at most two of its usual intervals, so that a gap in the reports is not taken for hours. Late snapshots may
 * fall between others, so a batch's sums are made anew when it changed; nothing is added up as events come in.
 */
export interface GpuSeconds {
  used: number
  idle: number
}

interface Known extends GpuSeconds {
  /** The version of the batch's progress row, which every accepted event changes. */
  version: string
  /** When the sums may be made anew: the longer they took, the later. */
  notBefore: number
}

const MOST_KNOWN = 100_000
const BATCHES_AT_ONCE = 200
const REST_PER_WORK = 20

export interface GpuHours {
  /** Over all batches of these projects (all projects: null) that are not deleted. */
  of(db: Db, projectKeys: number[] | null, now: Date): Promise<GpuSeconds>
}

/** Remembers what it summed, for as long as the process lives. */
export function createGpuHours(): GpuHours {
  const known = new Map<number, Known>()
  return {
    async of(db, projectKeys, now) {
      const batches = await db<{ key: number; version: string }[]>`/* gpu_hours.versions */
        select b.key, p.xmin::text "version" from batches b join batch_progress p on p.batch_key = b.key
        where b.deleted_at is null and (${projectKeys}::int[] is null or b.project_key = any (${projectKeys}::int[]))`
      const clock = performance.now()
      const stale = batches.filter(({ key, version }) => {
        const sums = known.get(key)
        return sums === undefined || (sums.version !== version && sums.notBefore <= clock)
      })
      for (let i = 0; i < stale.length; i += BATCHES_AT_ONCE) {
        const some = stale.slice(i, i + BATCHES_AT_ONCE)
        const begun = performance.now()
        const sums = await sumSnapshots(
          db,
          some.map((b) => b.key),
          now,
        )
        const done = performance.now()
        for (const { key, version } of some) {
          const { used, idle } = sums.get(key) ?? { used: 0, idle: 0 }
          known.delete(key)
          known.set(key, { used, idle, version, notBefore: done + REST_PER_WORK * (done - begun) })
        }
      }
      const total = { used: 0, idle: 0 }
      for (const { key } of batches) {
        total.used += known.get(key)?.used ?? 0
        total.idle += known.get(key)?.idle ?? 0
      }
      for (const key of known.keys()) {
        if (known.size <= MOST_KNOWN) break
        known.delete(key)
      }
      return total
    },
  }
}

async function sumSnapshots(db: Db, batchKeys: number[], now: Date): Promise<Map<number, GpuSeconds>> {
  const rows = await db<{ key: number; used: number; idle: number }[]>`/* gpu_hours.sum */
    with seen as (
      select s.batch_key, s.job_key, s.ts, s.gpu_util_pct, s.gpus,
        extract(epoch from lead(s.ts) over stream - s.ts)::float8 gap,
        extract(epoch from coalesce(b.ended_at, ${now.toISOString()}::timestamptz) - s.ts)::float8 open_end
      from resource_snapshots s join batches b on b.key = s.batch_key
      where s.batch_key = any (${batchKeys}::bigint[]) and (s.gpu_util_pct is not null or s.gpus is not null)
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
    from single where util <> 'NaN' group by batch_key`
  return new Map(rows.map(({ key, used, idle }) => [key, { used, idle }]))
}
