-- Background work: which servers are up, what the watchers judged, and how far the sweeper is.

-- Servers that run over this database. One that is up holds the advisory lock of its number (src/workers/presence.ts).
create table if not exists servers (
  number     integer generated always as identity primary key,
  started_at timestamptz not null,
  -- The database's own time, whatever a server's clock says.
  seen_at    timestamptz not null,
  -- Under which name it takes jobs of the queue.
  pool_id    text
);

-- Since when events could come in without a break; one row.
create table if not exists reachable (
  one     boolean primary key default true check (one),
  -- In the servers' own time.
  since   timestamptz not null,
  -- The database's time of the last sign of any server.
  seen_at timestamptz not null
);

-- What the watchers judged (src/domain/liveness.ts), once an episode. A row stands while `cleared_at` is null. The same
-- episode judged again, as after a restart, is the same row, so nobody is told of it twice.
create table if not exists verdicts (
  key         bigint generated always as identity primary key,
  kind        text not null check (kind in ('batch_stalled', 'batch_lost', 'job_idle', 'agent_offline')),
  -- The key of the batch, job or agent.
  subject_key bigint not null,
  -- The batch, of batches and jobs.
  batch_key   bigint references batches (key) on delete cascade,
  -- Since when the evidence holds: the last event, the last time the GPU was busy, the last sign of life.
  since       timestamptz not null,
  reason      text not null,
  judged_at   timestamptz not null,
  cleared_at  timestamptz,
  unique (kind, subject_key, since)
);
create unique index if not exists verdicts_standing on verdicts (kind, subject_key) where cleared_at is null;
create index if not exists verdicts_batch on verdicts (batch_key) where batch_key is not null;

-- Stretches of db_ids that the sweeper has seen, with the time of the oldest event whose payload is still there: it
-- comes back to a stretch when that is due, and never looks at the others. Null where nothing is left.
create table if not exists swept_stretches (
  number       bigint primary key,
  oldest_line  timestamptz,
  oldest_other timestamptz
);

-- A purged batch whose rows are all gone.
alter table batches add column if not exists emptied_at timestamptz;
create index if not exists batches_to_purge on batches (deleted_at, key) where deleted_at is not null and emptied_at is null;
