-- Projects, and what the events of a training become (specification §2; contract §1, §4).
--
-- Summary rows are split in two: what changes a few times in a life (batches, jobs) and what every group of
-- events changes (batch_progress, job_progress). The second are narrow, leave half of each page free and have no
-- index on a changing column, so nearly every update stays on its page (HOT).
-- The batch_progress row is the batch's lock: whoever changes anything of a batch locks it first. Whoever changes one
-- of its jobs also writes it, so that its xmin tells a server whether the jobs it remembers are still as it left them.

create table if not exists projects (
  key          integer generated always as identity primary key,
  slug         text not null unique,
  display_name text not null,
  visibility   text not null default 'private' check (visibility in ('private', 'public')),
  owner_id     uuid not null references users (id),
  recipients   text[] not null default '{}',
  created_at   timestamptz not null default now()
);
create index if not exists projects_owner on projects (owner_id);

create table if not exists project_members (
  project_key integer not null references projects (key) on delete cascade,
  user_id     uuid not null references users (id) on delete cascade,
  role        text not null check (role in ('member', 'viewer')),
  created_at  timestamptz not null default now(),
  primary key (project_key, user_id)
);
create index if not exists project_members_user on project_members (user_id);

create table if not exists batches (
  key               bigint generated always as identity primary key,
  id                text not null unique,
  project_key       integer not null references projects (key),
  owner_id          uuid not null references users (id),
  status            text not null check (status in ('running', 'completed', 'failed', 'stopped')),
  -- The batch_start's time, else the earliest time seen.
  started_at        timestamptz not null,
  ended_at          timestamptz,
  experiment_type   text,
  n_total           integer,
  host              text,
  username          text,
  commit_sha        text,
  command           text,
  env_snapshot      jsonb,
  rerun_of          text,
  failure_reason    text,
  -- What the end event said: {n_done, n_failed, elapsed_s}.
  reported          jsonb,
  tags              text[] not null default '{}',
  -- Once a person has edited the tags, events no longer set them.
  tags_edited       boolean not null default false,
  notes             text not null default '',
  stop_requested_at timestamptz,
  stop_requested_by uuid references users (id),
  deleted_at        timestamptz,
  purged_at         timestamptz,
  -- How the fields above were merged from several start or end events (src/domain/merge.ts).
  start_fields      jsonb,
  ending            jsonb,
  created_at        timestamptz not null default now()
);
create index if not exists batches_by_project on batches (project_key, started_at desc, key desc);
create index if not exists batches_by_start on batches (started_at desc, key desc);

create table if not exists batch_progress (
  batch_key     bigint primary key references batches (key) on delete cascade,
  first_seen_at timestamptz not null,
  last_seen_at  timestamptz not null,
  n_jobs        integer not null default 0,
  n_running     integer not null default 0,
  n_completed   integer not null default 0,
  n_failed      integer not null default 0,
  n_stopped     integer not null default 0,
  n_lost        integer not null default 0,
  -- GPU evidence from snapshots that name no job: first and last seen, last seen at 5% or more.
  gpu_first_at  timestamptz,
  gpu_last_at   timestamptz,
  gpu_busy_at   timestamptz
) with (fillfactor = 50);

create table if not exists jobs (
  key            bigint generated always as identity primary key,
  batch_key      bigint not null references batches (key) on delete cascade,
  id             text not null,
  status         text not null check (status in ('running', 'completed', 'failed', 'stopped', 'lost')),
  started_at     timestamptz not null,
  ended_at       timestamptz,
  model          text,
  dataset        text,
  params         jsonb not null default '{}',
  metrics        jsonb not null default '{}',
  failure_reason text,
  -- What the end event said, in seconds.
  reported_s     double precision,
  start_fields   jsonb,
  final_fields   jsonb,
  -- The latest of job_start, job_done and job_failed: {outcome, stamp}.
  outcome        text not null default 'running' check (outcome in ('running', 'completed', 'failed')),
  outcome_stamp  text not null default '',
  created_at     timestamptz not null default now(),
  unique (batch_key, id)
);
create index if not exists jobs_by_start on jobs (started_at desc, key desc);

create table if not exists job_progress (
  job_key       bigint primary key references jobs (key) on delete cascade,
  batch_key     bigint not null,
  first_seen_at timestamptz not null,
  last_seen_at  timestamptz not null,
  -- Distinct epochs, and the highest.
  epochs        integer not null default 0,
  max_epoch     integer,
  -- The job's dictionary of series; a position here is the position in epochs.vals and in the four arrays below.
  series        text[] not null default '{}',
  last_epoch    integer[] not null default '{}',
  last_value    double precision[] not null default '{}',
  -- Over finite values only.
  min_value     double precision[] not null default '{}',
  max_value     double precision[] not null default '{}',
  -- Epochs up to here stand in metric_chunks as well.
  packed_to     integer,
  gpu_first_at  timestamptz,
  gpu_last_at   timestamptz,
  gpu_busy_at   timestamptz
) with (fillfactor = 50);
create index if not exists job_progress_batch on job_progress (batch_key);

-- The raw events. `payload` is the event as JSON text: nothing reads inside it, so it is not parsed a second time.
-- A purged event keeps its row, with a null payload, so that a late repeat is still recognised.
create table if not exists events (
  db_id     bigint primary key,
  event_id  uuid not null unique,
  batch_key bigint not null,
  job_key   bigint,
  type      smallint not null,
  ts        timestamptz not null,
  payload   text
);
create index if not exists events_ts on events using brin (ts);
create index if not exists events_batch on events using brin (batch_key);
-- Ids are taken 32 at a time: one call gives event_block .. event_block + 31.
create sequence if not exists event_block increment by 32;

-- One row an epoch: its series side by side, in the order of job_progress.series.
create table if not exists epochs (
  job_key bigint not null,
  epoch   integer not null,
  -- The event the row came from: its time and db_id.
  ts      timestamptz not null,
  db_id   bigint not null,
  vals    double precision[] not null,
  -- Only where several events were merged: series -> stamp of the event its value came from.
  stamps  jsonb,
  primary key (job_key, epoch)
);

-- The same points once more, 1,000 to a row and a series, for charts; always rebuildable from epochs.
-- series_no -1 holds the times, in milliseconds since 1970.
create table if not exists metric_chunks (
  job_key     bigint not null,
  series_no   integer not null,
  first_epoch integer not null,
  last_epoch  integer not null,
  n           integer not null,
  -- int32 big-endian; null when the epochs run without a gap from first_epoch.
  steps       bytea,
  -- float64 big-endian; never compressed nor moved out of line, 1,000 values fill one page.
  vals        bytea not null,
  primary key (job_key, series_no, first_epoch)
);
alter table metric_chunks alter column vals set storage plain;
alter table metric_chunks alter column steps set storage external;

create table if not exists log_lines (
  batch_key bigint not null,
  db_id     bigint not null,
  job_key   bigint not null,
  ts        timestamptz not null,
  level     text not null,
  -- debug 10, info and unknown words 20, warning 30, error 40, critical 50.
  rank      smallint not null,
  line      text not null,
  primary key (batch_key, db_id)
);
create index if not exists log_lines_job on log_lines (job_key, db_id);
create index if not exists log_lines_ts on log_lines using brin (ts);

create table if not exists resource_snapshots (
  batch_key     bigint not null,
  db_id         bigint not null,
  job_key       bigint,
  ts            timestamptz not null,
  gpu_util_pct  double precision,
  gpu_mem_mb    double precision,
  cpu_util_pct  double precision,
  ram_mb        double precision,
  disk_free_mb  double precision,
  gpus          jsonb,
  -- Other numeric fields by name.
  extra         jsonb,
  primary key (batch_key, ts, db_id)
);
