import type { Sql } from '../../src/db/sql.ts'

/**
 * A database as two busy weeks leave it, straight into the tables: batches of ten jobs, each of 100 epochs of five
 * series and 200 log lines, fifty batches side by side, so that the rows of one job lie scattered among others'.
 * Events are stored as the reporter sends them, with ids of version 7, and the log of changes holds a day.
 */
export interface Grown {
  batches: number
  jobs: number
  epochValues: number
  logLines: number
  events: number
  changes: number
}

const JOBS = 10
const EPOCHS = 100
const LINES = 200
const SERIES = ['train_loss', 'val_loss', 'lr', 'acc', 'throughput']
const SIDE_BY_SIDE = 50
/** Rows of the log of changes that a batch leaves: groups hold many events. */
const CHANGES = 200
const EVENTS = JOBS * (EPOCHS + LINES)

/**
 * @param ownerId whose the projects are
 * @param count how many batches
 * @param tell is told how far it is, now and then
 */
export async function fillGrown(
  sql: Sql,
  ownerId: string,
  count: number,
  tell: (message: string) => void = () => {},
): Promise<void> {
  await sql`/* grown.projects */
    insert into projects (slug, display_name, owner_id)
    select 'grown-' || i, 'Grown ' || i, ${ownerId} from generate_series(0, 19) i`
  // The index is built once at the end, which is faster than row by row.
  await sql`alter table events drop constraint events_event_id_key`
  await sql`set synchronous_commit = off`
  for (let from = 0; from < count; from += SIDE_BY_SIDE) {
    await sql.unsafe(together(from, Math.min(from + SIDE_BY_SIDE, count), count))
    if (from % 1_000 === 0) tell(`${from.toLocaleString('en')} of ${count.toLocaleString('en')} batches`)
  }
  tell('indexes and statistics')
  await sql`set maintenance_work_mem = '1GB'`
  await sql`alter table events add constraint events_event_id_key unique (event_id)`
  await sql`/* grown.ids */ select setval('event_block', (select coalesce(max(db_id), 0) + 64 from events))`
  await sql`reset synchronous_commit`
}

/** What `fillGrown` puts there for so many batches. */
export function sizeOf(count: number): Grown {
  return {
    batches: count,
    jobs: count * JOBS,
    epochValues: count * JOBS * EPOCHS * SERIES.length,
    logLines: count * JOBS * LINES,
    events: count * EVENTS,
    changes: count * CHANGES,
  }
}

/**
 * Batches `from` up to `to` of `count`, whose jobs ran at the same time. Log lines are kept for fourteen days, so all
 * of it happened in the last thirteen; every text here is made of whole numbers alone.
 */
function together(from: number, to: number, count: number): string {
  const jobs = (to - from) * JOBS
  const firstId = from * EVENTS + 1
  const startedAt = `now() - interval '1 hour' - interval '13 days' * ${1 - from / count}`
  return `
    create temp table made on commit drop as
    with b as (
      insert into batches (id, project_key, owner_id, status, started_at, ended_at, experiment_type, n_total, host, username,
        command, tags, env_snapshot)
      select 'grown-' || i, p.key, p.owner_id,
        case i % 100 when 2 then 'failed' when 3 then 'stopped' else 'completed' end,
        ${startedAt} + i % 50 * interval '10 seconds', ${startedAt} + interval '30 minutes', 'sweep', ${JOBS},
        'box' || i * 13 % 50, 'user' || i % 40, 'python train.py --config configs/' || i % 300 || '.yaml --seed ' || i,
        array['all'] || case when i % 3 = 0 then array['often'] else '{}' end,
        '{"commit": "a1b2c3d", "command": "python train.py", "cwd": "/work", "hostname": "box"}'
      from generate_series(${from}, ${to - 1}) i join projects p on p.slug = 'grown-' || i % 20
      returning key, id, started_at, ended_at),
    progress as (
      insert into batch_progress (batch_key, first_seen_at, last_seen_at, n_jobs, n_completed, n_events)
      select key, started_at, ended_at, ${JOBS}, ${JOBS}, ${EVENTS} from b),
    j as (
      insert into jobs (batch_key, id, status, outcome, started_at, ended_at, model, dataset, params, metrics)
      select key, 'seed' || n, 'completed', 'completed', started_at, ended_at, 'resnet' || key % 7, 'set' || key % 5,
        jsonb_build_object('lr', 0.1 / (1 + n), 'seed', n, 'width', key % 9), jsonb_build_object('acc', random())
      from b, generate_series(1, ${JOBS}) n
      returning key, batch_key, id, started_at, ended_at)
    select j.key, j.batch_key, j.id, b.id batch_id, j.started_at, j.ended_at, row_number() over (order by j.key) - 1 nth
    from j join b on b.key = j.batch_key;

    insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at, epochs, max_epoch, series, last_epoch,
      last_value, min_value, max_value)
    select key, batch_key, started_at, ended_at, ${EPOCHS}, ${EPOCHS - 1}, '{${SERIES.join(',')}}',
      array_fill(${EPOCHS - 1}, array[${SERIES.length}]), '{0.1,0.2,0.0003,0.9,900}', '{0.1,0.2,0.0003,0.1,800}',
      '{2,2,0.0003,0.9,1000}'
    from made;

    insert into epochs (job_key, epoch, ts, db_id, vals)
    select key, e, started_at + e * interval '15 seconds', ${firstId} + e * ${jobs} + nth,
      array[2 * exp(-e / 40.0) + random() / 10, 2 * exp(-e / 40.0) + random() / 5, 3e-4, 1 - exp(-e / 40.0), 900 + random()]
    from generate_series(0, ${EPOCHS - 1}) e, made order by e, nth;

    insert into log_lines (batch_key, db_id, job_key, ts, level, rank, line)
    select batch_key, ${firstId + EPOCHS * jobs} + l * ${jobs} + nth, key, started_at + l * interval '7500 ms',
      case l % 50 when 0 then 'warning' when 1 then 'error' else 'info' end,
      case l % 50 when 0 then 30 when 1 then 40 else 20 end,
      'step ' || l * 391 || ': loss ' || random() || ', 912.4 images/s, gradient norm ' || random()
    from generate_series(0, ${LINES - 1}) l, made order by l, nth;

    insert into events (db_id, event_id, batch_key, job_key, type, ts, payload)
    select e.db_id, uuidv7(e.ts - now()), batch_key, key, 4, e.ts,
      '{"event_id":"00000000-0000-4000-8000-000000000000","schema_version":"1.1","event_type":"job_epoch","timestamp":"'
      || e.ts || '","batch_id":"' || batch_id || '","job_id":"' || made.id
      || '","source":{"project":"grown-1","host":"box1","user":"user1","commit":"a1b2c3d","command":"python train.py"},'
      || '"data":{"epoch":' || e.epoch || ',"train_loss":' || e.vals[1] || ',"val_loss":' || e.vals[2]
      || ',"lr":0.0003,"acc":' || e.vals[4] || ',"throughput":' || e.vals[5] || '}}'
    from made join epochs e on e.job_key = made.key order by e.db_id;

    insert into events (db_id, event_id, batch_key, job_key, type, ts, payload)
    select l.db_id, uuidv7(l.ts - now()), l.batch_key, l.job_key, 8, l.ts,
      '{"event_id":"00000000-0000-4000-8000-000000000000","schema_version":"1.1","event_type":"log_line","timestamp":"'
      || l.ts || '","batch_id":"' || batch_id || '","job_id":"' || made.id
      || '","source":{"project":"grown-1","host":"box1","user":"user1","commit":"a1b2c3d","command":"python train.py"},'
      || '"data":{"line":"' || l.line || '","level":"' || l.level || '"}}'
    from made join log_lines l on l.job_key = made.key order by l.db_id;

    insert into resource_snapshots (batch_key, db_id, job_key, ts, gpu_util_pct, gpu_mem_mb, cpu_util_pct, ram_mb)
    select batch_key, n, null, started_at + n * interval '30 seconds', 80 + random() * 20, 20110, 40, 8123
    from generate_series(1, 60) n, (select distinct batch_key, started_at from made) b;

    insert into changes (at, channel, type, batch_key, keys, first_id, last_id)
    select now() - interval '20 hours' * (1 - n::float8 / ${CHANGES * (to - from)}),
      case n % 2 when 0 then 'metrics:' else 'logs:' end || batch_id, case n % 2 when 0 then 'epochs' else 'lines' end,
      batch_key, '{}', ${firstId}, ${firstId}
    from generate_series(1, ${CHANGES}) c, (
      select batch_id, batch_key, row_number() over () + 0 as b from (select distinct batch_id, batch_key from made) d) b,
      lateral (select c * ${to - from} + b.b as n) numbered;`
}
