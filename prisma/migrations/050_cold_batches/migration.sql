-- Batches whose telemetry is in the archive (docs/operations.md "The archive"; decision 0024). `cold_at` is set in the
-- transaction that removes their rows, and cleared in the one that brings them back.
alter table batches add column if not exists cold_at timestamptz;

create table if not exists cold_batches (
  batch_key         bigint primary key,
  -- writing: objects may be there, nothing relies on them; verified: they were read back, the rows are still here;
  -- cold: the rows are gone; warm: the rows are back, the objects are of no more use.
  state             text not null check (state in ('writing', 'verified', 'cold', 'warm')),
  -- Below SVC_ARCHIVE_URL.
  location          text not null,
  manifest_sha256   text,
  -- What the batch looked like when it was read (src/domain/cold/state.ts).
  fingerprint       text,
  bytes             bigint not null default 0,
  n_rows            bigint not null default 0,
  -- The oldest events in the archive that still have their payload.
  oldest_line       timestamptz,
  oldest_other      timestamptz,
  verified_at       timestamptz,
  thawed_at         timestamptz,
  -- What its snapshots say of GPUs, in seconds, for the dashboard.
  gpu_used_s        double precision not null default 0,
  gpu_idle_s        double precision not null default 0,
  problem           text,
  problem_at        timestamptz
);
create index if not exists cold_batches_state on cold_batches (state, verified_at);
create index if not exists batches_ended on batches (ended_at) where cold_at is null and status <> 'running';

-- Objects that no batch relies on any more, and when they may go.
create table if not exists cold_removals (
  location text primary key,
  due_at   timestamptz not null
);
