import { required } from '../../checked.ts'
import { type Fields, int, text, type ViewOf } from '../field.ts'
import { TIMES } from '../metrics/index.ts'
import type { Telemetry } from '../telemetry.ts'

/** How much is stored of a batch, for a program that has copied a history and compares. */
export const storedFields = {
  project: { type: text, public: 'hidden' },
  status: { type: text, public: 'hidden' },
  config: { type: int, means: 'Top-level entries of the configuration', public: 'hidden' },
  tags: { type: int, public: 'hidden' },
  jobs: { type: int, public: 'hidden' },
  series: { type: int, public: 'hidden' },
  points: { type: int, public: 'hidden' },
  log_lines: { type: int, public: 'hidden' },
} as const satisfies Fields
type StoredCounts = ViewOf<typeof storedFields>

/** Counts rows; files and media have counts of their own (domain/files, domain/media). */
export async function storedOf(
  db: Telemetry,
  batch: { key: number; projectSlug: string; status: string },
): Promise<StoredCounts> {
  await db.restore({ batches: [batch.key] }, 'kept')
  const [row] = await db<Omit<StoredCounts, 'project' | 'status'>[]>`/* batches.stored */
    select (select count(*) from jsonb_object_keys(coalesce(b.config, '{}'))) config, cardinality(b.tags) tags,
      j.jobs, j.series, j.points,
      (select count(*) from log_lines l where l.batch_key = ${batch.key}) log_lines
    from batches b cross join lateral (
      select count(*) jobs, coalesce(sum(cardinality(p.series)), 0)::bigint series,
        coalesce(sum(e.points), 0)::bigint points
      from job_progress p cross join lateral (
        select coalesce(sum(cardinality(array_remove(e.vals, null))), (
            select sum(c.n) from metric_chunks c
            where c.batch_key = ${batch.key} and c.job_key = p.job_key and c.series_no <> ${TIMES})) points
        from epochs e where e.batch_key = ${batch.key} and e.job_key = p.job_key) e
      where p.batch_key = ${batch.key}) j
    where b.key = ${batch.key}`
  return { project: batch.projectSlug, status: batch.status, ...required(row) }
}
