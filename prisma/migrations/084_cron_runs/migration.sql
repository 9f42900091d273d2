-- Servers of earlier releases may run on it.
-- When each cron task was last started, on any server; for GET /metrics.
create table if not exists cron_runs (
  task       text primary key,
  -- The database's time.
  started_at timestamptz not null
);
