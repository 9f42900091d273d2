import { Gauge, type Registry } from 'prom-client'
import type { Sql } from '../../db/sql.ts'
import { stalledBefore } from '../../domain/liveness.ts'
import { clockOf, type Services } from '../../services.ts'

/** How long a scrape waits for the database, so that an unreachable one does not delay the other metrics. */
const TIMEOUT_MS = 2_000

interface DatabaseTotals {
  newestChange: number
  databaseBytes: number
  running: number
  connections: { pool: string; state: string; n: number }[]
  jobs: { task: string; state: string; n: number }[]
  crons: { task: string; at: number }[]
}

/** Metrics that come from the database. Each scrape runs one query. */
export function createDatabaseTotals(services: Services, registers: Registry[]): void {
  const { sql, live } = services
  let asked: Promise<DatabaseTotals | undefined> | undefined
  const stock = (): Promise<DatabaseTotals | undefined> => {
    // All gauges of a scrape share one query.
    asked ??= withTimeout(readTotals(sql, stalledBefore(clockOf(services)))).finally(() => {
      asked = undefined
    })
    return asked
  }
  const gauge = <Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[],
    fill: (gauge: Gauge<Label>, stock: DatabaseTotals) => void,
  ): void => {
    new Gauge({
      name,
      help,
      labelNames,
      registers,
      async collect() {
        this.reset()
        const known = await stock()
        if (known !== undefined) fill(this, known)
        // An unknown value is not reported; without labels, a reset would report zero.
        else if (labelNames.length === 0) this.remove()
      },
    })
  }
  new Gauge({
    name: 'svc_database_up',
    help: 'Whether the database answered this scrape',
    registers,
    async collect() {
      this.set((await stock()) === undefined ? 0 : 1)
    },
  })
  gauge('svc_database_bytes', 'Size of the database on disk', [], (g, s) => g.set(s.databaseBytes))
  gauge(
    'svc_database_connections',
    'Connections to the database of all servers, by pool and state',
    ['pool', 'state'] as const,
    (g, s) => {
      for (const { pool, state, n } of s.connections) g.set({ pool, state }, n)
    },
  )
  gauge('svc_changes_lag', 'Changes that this server has not read yet', [], (g, s) =>
    g.set(Math.max(0, s.newestChange - live.cursor)),
  )
  gauge('svc_batches_running', 'Running batches', [], (g, s) => g.set(s.running))
  gauge('svc_jobs', 'Background tasks, by task and state', ['task', 'state'] as const, (g, s) => {
    for (const { task, state, n } of s.jobs) g.set({ task, state }, n)
  })
  gauge(
    'svc_cron_last_run_timestamp_seconds',
    'Last start of a scheduled task, on any server',
    ['task'] as const,
    (g, s) => {
      for (const { task, at } of s.crons) g.set({ task }, at)
    },
  )
}

const withTimeout = (reading: Promise<DatabaseTotals>): Promise<DatabaseTotals | undefined> =>
  new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), TIMEOUT_MS)
    reading.then(resolve, () => resolve(undefined)).finally(() => clearTimeout(timer))
  })

async function readTotals(sql: Sql, silentBefore: Date | null): Promise<DatabaseTotals> {
  const [row] = await sql<DatabaseTotals[]>`/* metrics.stock */
    select
      coalesce((select max(seq) from changes), 0) as "newestChange",
      pg_database_size(current_database()) as "databaseBytes",
      (select count(*) from batches b join batch_progress p on p.batch_key = b.key
        where b.status = 'running' and b.deleted_at is null
          and coalesce(p.last_live_at, p.last_seen_at) >= ${silentBefore?.toISOString() ?? '-infinity'}::timestamptz) as running,
      (select coalesce(jsonb_agg(c), '[]') from (
        select application_name as pool, coalesce(state, 'other') as state, count(*) as n
        from pg_stat_activity
        where datname = current_database() and application_name like regexp_replace(current_setting('application_name'), '[^ ]+$', '') || '%'
          and backend_type = 'client backend'
        group by 1, 2) c) as connections,
      (select coalesce(jsonb_agg(j), '[]') from (
        select task_identifier as task,
          case when locked_at is not null then 'running' when attempts >= max_attempts then 'failed'
               when attempts > 0 then 'retrying' else 'waiting' end as state,
          count(*) as n
        from graphile_worker.jobs
        group by 1, 2) j) as jobs,
      (select coalesce(jsonb_agg(c), '[]') from (
        select task, extract(epoch from started_at)::float8 as at from cron_runs) c) as crons`
  return row as DatabaseTotals
}
