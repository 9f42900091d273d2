-- Servers of earlier releases may run on it.
-- Sweeps: a batch whose jobs are trials of one search space. The service proposes or records the parameters of each
-- trial; its results are those of its job.
alter table batches add column if not exists sweep_id text;

create table if not exists sweeps (
  id          text primary key,
  batch_key   bigint not null references batches (key) on delete cascade,
  definition  jsonb not null,
  state       text not null default 'running' check (state in ('running', 'paused', 'stopped', 'finished')),
  max_trials  integer,
  -- The number of the next new trial.
  next_number integer not null default 0,
  -- Rises with every trial that is reserved or settled.
  changes     bigint not null default 0,
  created_by  uuid references users (id) on delete set null,
  created_at  timestamptz not null
);
create unique index if not exists sweeps_batch on sweeps (batch_key);
-- Those whose batch may have to be ended.
create index if not exists sweeps_open on sweeps (batch_key) where state <> 'paused';

create table if not exists sweep_trials (
  sweep_id    text not null references sweeps (id) on delete cascade,
  number      integer not null,
  job_id      text not null,
  params      jsonb not null,
  worker      text not null,
  -- Identifies a request, so that its repetition returns the same trial.
  ask_id      text,
  reserved_at timestamptz not null,
  -- How often it was handed out.
  handed_out  integer not null default 1,
  -- Whether its job has ended, so that it is not handed out again.
  settled     boolean not null default false,
  changed     bigint not null,
  primary key (sweep_id, number)
);
create index if not exists sweep_trials_open on sweep_trials (sweep_id, number) where not settled;
create index if not exists sweep_trials_changed on sweep_trials (sweep_id, changed);
create unique index if not exists sweep_trials_ask on sweep_trials (sweep_id, ask_id) where ask_id is not null;
