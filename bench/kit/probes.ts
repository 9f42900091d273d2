import type { Sql } from '../../src/db/sql.ts'
import { fillBatch } from './series.ts'

/** One read of the service that must cost the same however much is stored beside what it reads. */
export interface Probe {
  what: string
  path: string
}

const LISTED = 60
const LINES = 50_000

/**
 * What the probes read, alike in every database: enough batches for a page under every filter, older than all others;
 * a batch of 1,000 jobs, one of a million points, one of 50,000 log lines.
 */
export async function fillProbes(sql: Sql, ownerId: string): Promise<void> {
  await sql`/* probes.project */
    insert into projects (slug, display_name, owner_id) values ('probe', 'Probe', ${ownerId})`
  await sql`/* probes.batches */
    with made as (
      insert into batches (id, project_key, owner_id, status, started_at, ended_at, experiment_type, n_total, host, command, tags)
      select 'probe-' || i, (select key from projects where slug = 'probe'), ${ownerId}, 'failed',
        now() - interval '13 days 12 hours' + i * interval '1 minute', now() - interval '13 days', 'sweep', 0, 'probe-host',
        'python train.py --probe-needle', '{all,probe-tag}'
      from generate_series(1, ${LISTED}::int) i
      returning key, started_at, ended_at)
    insert into batch_progress (batch_key, first_seen_at, last_seen_at) select key, started_at, ended_at from made`
  await fillBatch(sql, 'probe-chart', 100, 10_000)
  await fillBatch(sql, 'probe-jobs', 1_000, 20)
  const log = await fillBatch(sql, 'probe-log', 1, 20)
  await sql`/* probes.log */
    insert into log_lines (batch_key, db_id, job_key, ts, level, rank, line)
    select j.batch_key, -l, j.key, now() - interval '1 hour' - l * interval '1 second',
      case l % 100 when 0 then 'error' else 'info' end, case l % 100 when 0 then 40 else 20 end,
      'step ' || l || ': loss ' || random() || case when l % 5000 = 0 then ' needle' else '' end
    from jobs j, generate_series(1, ${LINES}::int) l where j.batch_key = ${log.key}`
}

const list = (query: string): string => `/api/batches?limit=50${query}`

export const PROBES: readonly Probe[] = [
  { what: 'batch list, newest', path: list('') },
  { what: 'batch list, project', path: list('&project=probe') },
  { what: 'batch list, status', path: list('&status=failed') },
  { what: 'batch list, host', path: list('&host=probe-host') },
  { what: 'batch list, seldom tag', path: list('&tag=probe-tag') },
  { what: 'batch list, tag of all', path: list('&tag=all') },
  { what: 'batch list, seldom word', path: list('&q=probe-needle') },
  { what: 'batch list, word of all', path: list('&q=python') },
  { what: 'batch list, four filters', path: list('&project=probe&status=failed&tag=all&q=python') },
  { what: 'batch page: the batch', path: '/api/batches/probe-jobs' },
  { what: 'batch page: 500 of 1,000 jobs', path: '/api/batches/probe-jobs/jobs?limit=500' },
  { what: 'batch page: ETA', path: '/api/batches/probe-jobs/eta' },
  { what: 'batch page: health', path: '/api/batches/probe-jobs/health' },
  { what: 'chart of 1M points', path: '/api/batches/probe-chart/metrics?keys=train_loss&points=1000' },
  { what: 'log tail', path: '/api/batches/probe-log/log-lines?tail=500' },
  { what: 'log search', path: '/api/batches/probe-log/log-lines?q=needle&limit=500' },
  { what: 'log errors', path: '/api/batches/probe-log/log-lines?level=error&limit=500' },
  { what: 'list of jobs by model', path: '/api/jobs?limit=50&model=resnet1' },
  { what: 'dashboard summary', path: '/api/dashboard/summary' },
  { what: 'dashboard summary of a project', path: '/api/dashboard/summary?project=probe' },
]
