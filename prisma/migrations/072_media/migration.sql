-- Media of jobs (docs/files.md): values of job_epoch that are images, tables and so on, by key and step.
create table if not exists media (
  batch_key bigint not null references batches (key),
  job_key   bigint not null,
  key       text collate "C" not null,
  step      bigint not null,
  at        timestamptz not null,
  -- Of two events with a value for the same step the one with the greater stamp wins.
  stamp     text collate "C" not null,
  vals      jsonb not null,
  primary key (batch_key, key, step, job_key)
);
create index if not exists media_by_step on media (batch_key, step, job_key, key);

-- The keys of each job, for lists and queries.
create table if not exists media_keys (
  batch_key bigint not null references batches (key),
  job_key   bigint not null,
  key       text collate "C" not null,
  type      text not null,
  primary key (batch_key, key, job_key)
);
create index if not exists media_keys_by_job on media_keys (job_key, key);
