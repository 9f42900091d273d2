import type { Sql } from '../../src/db/sql.ts'
import { payloadText, withTemplate } from '../../src/domain/events/index.ts'

type Row = Record<string, unknown>
interface MergedText {
  values: Row
  stamp: string
  stamps?: Record<string, string>
}

/**
 * Everything stored from events, for the batches whose id begins with `prefix`: by names rather than by keys, in one
 * order, without the keys, db_ids and times of writing that differ from server to server. Numbers come as JSON of
 * PostgreSQL, so NaN and infinities are text. What follows the time of receipt on purpose is left out: when a batch was
 * heard of, its host's clock, and the samples of a GPU below 5%, which count as they come (contract §10 "Time"); and
 * whether a worker has stored the batch's fields meanwhile.
 */
export async function summariesOf(sql: Sql, prefix: string): Promise<Record<string, Row[]>> {
  const like = `${prefix.replaceAll(/[\\%_]/g, '\\$&')}%`
  const rows = async (query: ReturnType<Sql>): Promise<Row[]> =>
    ((await query) as unknown as { row: Row }[]).map(({ row }) => row)
  const [batches, batchProgress, jobs, jobProgress, epochs, lines, snapshots, events] = await Promise.all([
    // The process is that of the first start that arrived, and a closing is no event's doing.
    rows(sql`select to_jsonb(b) - '{key,project_key,created_at,process,closing}'::text[] || jsonb_build_object('project', p.slug) as row
      from batches b join projects p on p.key = b.project_key where b.id like ${like} order by b.id`),
    rows(sql`select to_jsonb(p) - '{batch_key,last_received_at,last_live_at,clock_skews,gpu_low_samples,fields_known}'::text[] || jsonb_build_object('batch', b.id) as row
      from batch_progress p join batches b on b.key = p.batch_key where b.id like ${like} order by b.id`),
    rows(sql`select to_jsonb(j) - '{key,batch_key,created_at}'::text[] || jsonb_build_object('batch', b.id) as row
      from jobs j join batches b on b.key = j.batch_key where b.id like ${like} order by b.id, j.id`),
    rows(sql`select to_jsonb(p) - '{job_key,batch_key,gpu_low_samples,max_step,last_step,packed_step}'::text[]
        || jsonb_build_object('batch', b.id, 'job', j.id, 'max_epoch', p.max_step, 'packed_to', p.packed_step,
          'last_epoch', coalesce(p.last_step, '{}')) as row
      from job_progress p join jobs j on j.key = p.job_key join batches b on b.key = j.batch_key
      where b.id like ${like} order by b.id, j.id`),
    rows(sql`select jsonb_build_object('batch', b.id, 'job', j.id, 'epoch', e.epoch_high * 4294967296 + e.epoch, 'ts', e.ts, 'vals', to_jsonb(e.vals),
        'event', v.event_id, 'stamps', e.stamps, 'series', to_jsonb(p.series)) as row
      from epochs e join jobs j on j.key = e.job_key join job_progress p on p.job_key = j.key
      join batches b on b.key = j.batch_key left join events v on v.db_id = e.db_id
      where b.id like ${like} order by b.id, j.id, e.epoch_high, e.epoch`),
    rows(sql`select jsonb_build_object('batch', b.id, 'job', j.id, 'event', v.event_id, 'ts', l.ts, 'level', l.level,
        'rank', l.rank, 'line', l.line, 'stream', l.stream) as row
      from log_lines l join batches b on b.key = l.batch_key join jobs j on j.key = l.job_key
      left join events v on v.db_id = l.db_id where b.id like ${like} order by b.id, v.event_id`),
    rows(sql`select to_jsonb(s) - '{batch_key,job_key,db_id}'::text[]
        || jsonb_build_object('batch', b.id, 'job', j.id, 'event', v.event_id) as row
      from resource_snapshots s join batches b on b.key = s.batch_key left join jobs j on j.key = s.job_key
      left join events v on v.db_id = s.db_id where b.id like ${like} order by b.id, v.event_id`),
    rows(sql`select jsonb_build_object('batch', b.id, 'job', j.id, 'event', e.event_id, 'type', e.type, 'ts', e.ts,
        'payload', ${payloadText(sql)}::jsonb) as row
      from events e join batches b on b.key = e.batch_key left join jobs j on j.key = e.job_key ${withTemplate(sql)}
      where b.id like ${like} order by b.id, e.event_id`),
  ])
  return {
    batches: batches.map((b) => ({
      ...b,
      start_fields: fieldsOf(b.start_fields),
      detail_fields: fieldsOf(b.detail_fields),
    })),
    batchProgress,
    jobs: jobs.map((j) => ({
      ...j,
      start_fields: fieldsOf(j.start_fields),
      final_fields: fieldsOf(j.final_fields),
    })),
    jobProgress: jobProgress.map(bySeries),
    epochs: epochs.map(pointsOf),
    lines,
    snapshots,
    events,
  }
}

/** Field → value and stamp: how the merge came about (one stamp for all, or one each) makes no difference. */
function fieldsOf(merged: unknown): Record<string, unknown> | null {
  if (merged === null || merged === undefined) return null
  const { values, stamp, stamps = {} } = merged as MergedText
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [
      name,
      [value, Object.hasOwn(stamps, name) ? stamps[name] : stamp],
    ]),
  )
}

/** The arrays by name of series: their order is the order of arrival. */
function bySeries(row: Row): Row {
  const { series, last_epoch, last_value, min_value, max_value, ...rest } = row as Row &
    Record<string, unknown[]>
  const names = series as string[]
  const points = names.map((name, n) => [
    name,
    { last_epoch: last_epoch?.[n], last_value: last_value?.[n], min: min_value?.[n], max: max_value?.[n] },
  ])
  const lengths = [last_epoch, last_value, min_value, max_value].map((values) => values?.length)
  return { ...rest, series: Object.fromEntries(points), whole: lengths.every((n) => n === names.length) }
}

function pointsOf(row: Row): Row {
  const { series, vals, stamps, ...rest } = row as Row & { series: string[]; vals: unknown[] }
  const values = vals
    .map((value, n) => [series[n], value] as const)
    .filter(([, value]) => value !== null && value !== undefined)
  const known = new Map((stamps as [string, string][] | null) ?? [])
  // Where the stamps are written down they are of the values that stand, each of them.
  const stamped = stamps === null || values.every(([name]) => known.has(name as string))
  return { ...rest, values: Object.fromEntries(values), stamped }
}
