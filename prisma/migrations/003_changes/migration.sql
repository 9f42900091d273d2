-- The log of changes that the live stream reads (contract §6). Rows are appended as the last statement of a
-- transaction, under one advisory lock, so the order of seq is the order of commits, across servers too.
-- A row names what changed; what it looks like is read when it is told on (src/stream/change.ts).
create table if not exists changes (
  seq       bigint generated always as identity primary key,
  at        timestamptz not null default now(),
  channel   text not null,
  type      text not null,
  batch_key bigint,
  -- Keys of the batches or jobs that changed.
  keys      bigint[] not null default '{}',
  -- The db_ids of the events that brought the points, lines or snapshots.
  first_id  bigint,
  last_id   bigint
);
create index if not exists changes_channel on changes (channel, seq);
create index if not exists changes_at on changes using brin (at);
