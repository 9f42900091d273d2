-- Servers of earlier releases may run on it.
-- Batches that made a version again, with the same files; the first one stands in artifact_versions.
create table if not exists artifact_makers (
  version_key bigint not null references artifact_versions (key) on delete cascade,
  batch_key   bigint not null references batches (key),
  job_id      text not null default '',
  at          timestamptz not null default now(),
  primary key (version_key, batch_key, job_id)
);
create index if not exists artifact_makers_batch on artifact_makers (batch_key);
