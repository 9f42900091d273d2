import { canonicalInstant } from '../../db/instant.ts'
import type { Fragment } from '../../db/sql.ts'
import { STOP_REASON } from '../batches/index.ts'
import { type EventType, eventTypeCode, typeCodes } from '../events/index.ts'
import { readByBatch, type Telemetry } from '../telemetry.ts'
import type { StepView } from './step-fields.ts'

/** The most earlier starts and ends that a timeline shows: the latest ones. */
const MAX_MARKS = 200

interface Resumed {
  key: number
  started_at: string
  owner_id: string
  owner: string | null
}

interface Row {
  batch_key: number
  at: string
  type: number
  host: string | null
  pid: unknown
  n_total: unknown
  rerun_of: string | null
  reason: string | null
}

/**
 * The starts and ends of each of these batches before its latest start: of a run that was killed and resumed under the same id.
 * Starts whose payload retention has purged are missing, because they cannot be told from updates of the configuration.
 */
export async function earlierStarts(
  db: Telemetry,
  batchKeys: readonly number[],
): Promise<Map<number, StepView[]>> {
  const batches = await db<Resumed[]>`/* timeline.resumed */
    select b.key, b.started_at, b.owner_id, u.name owner
    from batches b join batch_progress p on p.batch_key = b.key left join users u on u.id = b.owner_id
    where b.key = any (${[...batchKeys]}::bigint[]) and p.first_seen_at < b.started_at`
  if (batches.length === 0) return new Map()
  const places = batches.map(({ key, started_at }) => ({ batchKey: key, startedAt: started_at }))
  // Each kind has a partial index: events_batch_starts, events_ends.
  const rows = await readByBatch(db, places, 'kept', (own, batch) => {
    const marks = (...types: EventType[]): Fragment => db`
      select e.ts at, e.event_id, e.type, d.event #>> '{source,host}' host, d.event #> '{data,process,pid}' pid,
        coalesce(d.event #> '{data,n_total}', d.event #> '{data,n_total_jobs}') n_total,
        d.event #>> '{data,rerun_of}' rerun_of, d.event #>> '{data,reason}' reason
      from events e cross join lateral (select e.payload::json event) d
      where e.batch_key = ${batch} and e.type in (${typeCodes(db, ...types)})
        and e.ts <= u.started_at and e.payload is not null
        and (d.event #>> '{data,update}') is distinct from 'true'
      order by e.ts desc, e.event_id desc limit ${MAX_MARKS}`
    return db<Row[]>`/* timeline.earlier */
      select u.batch_key, m.at, m.type, m.host, m.pid, m.n_total, m.rerun_of, m.reason
      from unnest(${own.map((one) => one.batchKey)}::bigint[], ${own.map((one) => one.startedAt)}::text[]::timestamptz[]) as u (batch_key, started_at)
      cross join lateral (
        select * from ((${marks('batch_start')}) union all (${marks('batch_done', 'batch_failed')})) m
        order by at desc, event_id desc limit ${MAX_MARKS}) m
      order by u.batch_key, m.at, m.event_id`
  })
  return new Map(
    batches.map((batch) => [
      batch.key,
      stepsOf(
        batch,
        rows.filter((row) => row.batch_key === batch.key),
      ),
    ]),
  )
}

function stepsOf(batch: Resumed, rows: readonly Row[]): StepView[] {
  const actor = { kind: 'reporter' as const, id: batch.owner_id, name: batch.owner }
  const latest = canonicalInstant(batch.started_at)
  return rows.flatMap((row, i): StepView[] => {
    const at = canonicalInstant(row.at)
    const step = { at: row.at, kind: 'batch' as const, cmd_id: null, actor }
    if (row.type === eventTypeCode('batch_start')) {
      if (at === latest) return []
      const { host, pid, n_total, rerun_of } = row
      return [{ ...step, step: 'began', detail: present({ host, pid, n_total, rerun_of }) }]
    }
    // Several reports of one end, such as the watchdog's and the agent's, are one step.
    const next = rows[i + 1]
    if (next !== undefined && next.type !== eventTypeCode('batch_start')) return []
    const completed = row.type === eventTypeCode('batch_done')
    const status = completed ? 'completed' : row.reason === STOP_REASON ? 'stopped' : 'failed'
    return [
      { ...step, step: 'ended', detail: present({ status, failure_reason: completed ? null : row.reason }) },
    ]
  })
}

const present = (detail: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(detail).filter(([, value]) => value !== null))
