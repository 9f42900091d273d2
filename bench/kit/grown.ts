import type { Sql } from '../../src/db/sql.ts'

/**
 * A database as two busy weeks leave it, straight into the tables: batches of ten jobs, each of 100 epochs of five
 * series and 200 log lines, fifty batches side by side, so that the rows of one job lie scattered among others'.
 * Events are stored as the reporter sends them, with ids of version 7, and the change log holds a day.
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
/** Rows of the change log that a batch leaves: groups hold many events. */
const CHANGES = 200
const EVENTS = JOBS * (EPOCHS + LINES)

/**
 * @param sql of two connections or more
 * @param ownerId whose the projects are
 * @param count how many batches
 * @param tell called now and then with the progress
 */
export async function fillGrown(
  sql: Sql,
  ownerId: string,
  count: number,
  tell: (message: string) => void = () => {},
): Promise<void> {
  // Steps that were stored, so that a fill that was cut off goes on; and the jobs of the last step, numbered.
  await sql.unsafe(`
    create table if not exists grown_steps (step text primary key);
    create table if not exists grown_jobs (key bigint, batch_key bigint, id text, batch_id text, started_at timestamptz, nth int)`)
  const done = new Set((await sql<{ step: string }[]>`select step from grown_steps`).map(({ step }) => step))
  const once = async (step: string, text: string): Promise<void> => {
    if (!done.has(step)) await sql.unsafe(`${text}; insert into grown_steps values ('${step}')`)
  }
  await once('projects', projectsOf(ownerId))
  for (let from = 0; from < count; from += SIDE_BY_SIDE) {
    const to = Math.min(from + SIDE_BY_SIDE, count)
    await once(`batches ${from}`, batchesOf(from, to, count))
    await Promise.all([once(`epochs ${from}`, epochsOf(from, to)), once(`lines ${from}`, linesOf(from, to))])
    if (from % 1_000 === 0) tell(`${from.toLocaleString('en')} of ${count.toLocaleString('en')} batches`)
  }
  tell('indexes and statistics')
  await once(
    'ids',
    `alter table events add constraint events_pkey primary key (batch_key, event_id);
    select setval('event_block', (select coalesce(max(db_id), 0) + 64 from events))`,
  )
  await once('swept', SWEPT)
}

/** The index over the events' ids is built once at the end, which is faster than row by row. */
const projectsOf = (ownerId: string): string => `
  insert into projects (slug, display_name, owner_id)
  select 'grown-' || i, 'Grown ' || i, '${ownerId}' from generate_series(0, 19) i;
  alter table events drop constraint events_pkey`

/** What hourly sweeps noted of the events that they found too young. */
const SWEPT = `
  insert into swept_stretches (number, oldest_line, oldest_other)
  select number, min(at) filter (where line), min(at) filter (where not line)
  from (
    select db_id / 65536 number, min(ts) at, true line from log_lines group by 1
    union all
    select db_id / 65536, min(ts), false from epochs group by 1) s
  where number <= (select max(db_id) from events) / 65536 - 16
  group by number`

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
function batchesOf(from: number, to: number, count: number): string {
  const startedAt = `now() - interval '1 hour' - interval '13 days' * ${1 - from / count}`
  return `
    truncate grown_jobs;
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
      select key, started_at, ended_at, ${JOBS}, ${JOBS}, ${EVENTS} from b)
    select key, id batch_id, started_at, ended_at from b;

    with j as (
      insert into jobs (batch_key, id, status, outcome, started_at, ended_at, model, dataset, params, metrics)
      select key, 'seed' || n, 'completed', 'completed', started_at, ended_at, 'resnet' || key % 7, 'set' || key % 5,
        jsonb_build_object('lr', 0.1 / (1 + n), 'seed', n, 'width', key % 9), jsonb_build_object('acc', random())
      from made, generate_series(1, ${JOBS}) n
      returning key, batch_key, id, started_at, ended_at),
    listed as (
      insert into grown_jobs (key, batch_key, id, batch_id, started_at, nth)
      select j.key, j.batch_key, j.id, made.batch_id, j.started_at, row_number() over (order by j.key) - 1
      from j join made on made.key = j.batch_key)
    insert into job_progress (job_key, batch_key, first_seen_at, last_seen_at, epochs, max_epoch, series, last_epoch,
      last_value, min_value, max_value)
    select key, batch_key, started_at, ended_at, ${EPOCHS}, ${EPOCHS - 1}, '{${SERIES.join(',')}}',
      array_fill(${EPOCHS - 1}, array[${SERIES.length}]), '{0.1,0.2,0.0003,0.9,900}', '{0.1,0.2,0.0003,0.1,800}',
      '{2,2,0.0003,0.9,1000}'
    from j;

    insert into resource_snapshots (batch_key, db_id, job_key, ts, gpu_util_pct, gpu_mem_mb, cpu_util_pct, ram_mb)
    select key, n, null, started_at + n * interval '30 seconds', 80 + random() * 20, 20110, 40, 8123
    from generate_series(1, 60) n, made;

    insert into changes (at, channel, type, batch_key, keys, first_id, last_id)
    select now() - interval '20 hours' * (1 - n::float8 / ${CHANGES * (to - from)}),
      case n % 2 when 0 then 'metrics:' else 'logs:' end || batch_id, case n % 2 when 0 then 'epochs' else 'lines' end,
      key, '{}', ${from * EVENTS + 1}, ${from * EVENTS + 1}
    from generate_series(1, ${CHANGES}) c, (select *, row_number() over () as b from made) d,
      lateral (select c * ${to - from} + d.b as n) numbered;

    analyze grown_jobs`
}

const eventOf = (type: string, ts: string, data: string): string => `
      '{"event_id":"00000000-0000-4000-8000-000000000000","schema_version":"1.1","event_type":"${type}","timestamp":"'
      || ${ts} || '","batch_id":"' || batch_id || '","job_id":"' || made.id
      || '","source":{"project":"grown-1","host":"box1","user":"user1","commit":"a1b2c3d","command":"python train.py"},'
      || '"data":{' || ${data} || '}}'`

function epochsOf(from: number, to: number): string {
  const jobs = (to - from) * JOBS
  return `
    with stored as (
      insert into epochs (epoch_high, batch_key, job_key, epoch, ts, db_id, vals)
      select 0, batch_key, key, e, started_at + e * interval '15 seconds', ${from * EVENTS + 1} + e * ${jobs} + nth,
        array[2 * exp(-e / 40.0) + random() / 10, 2 * exp(-e / 40.0) + random() / 5, 3e-4, 1 - exp(-e / 40.0), 900 + random()]
      from generate_series(0, ${EPOCHS - 1}) e, grown_jobs order by e, nth
      returning *)
    insert into events (db_id, event_id, batch_key, job_key, type, ts, payload)
    select e.db_id, uuidv7(e.ts - now()), e.batch_key, key, 4, e.ts, ${eventOf(
      'job_epoch',
      'e.ts',
      `'"epoch":' || e.epoch || ',"train_loss":' || e.vals[1] || ',"val_loss":' || e.vals[2]
      || ',"lr":0.0003,"acc":' || e.vals[4] || ',"throughput":' || e.vals[5]`,
    )}
    from stored e join grown_jobs made on e.job_key = made.key order by e.db_id`
}

function linesOf(from: number, to: number): string {
  const jobs = (to - from) * JOBS
  return `
    with stored as (
      insert into log_lines (batch_key, db_id, job_key, ts, level, rank, line)
      select batch_key, ${from * EVENTS + 1 + EPOCHS * jobs} + l * ${jobs} + nth, key, started_at + l * interval '7500 ms',
        case l % 50 when 0 then 'warning' when 1 then 'error' else 'info' end,
        case l % 50 when 0 then 30 when 1 then 40 else 20 end,
        'step ' || l * 391 || ': loss ' || random() || ', 912.4 images/s, gradient norm ' || random()
      from generate_series(0, ${LINES - 1}) l, grown_jobs order by l, nth
      returning *)
    insert into events (db_id, event_id, batch_key, job_key, type, ts, payload)
    select l.db_id, uuidv7(l.ts - now()), made.batch_key, made.key, 8, l.ts, ${eventOf(
      'log_line',
      'l.ts',
      `'"line":"' || l.line || '","level":"' || l.level || '"'`,
    )}
    from stored l join grown_jobs made on l.job_key = made.key order by l.db_id`
}
