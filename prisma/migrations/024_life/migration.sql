-- The life of a run: when events were received, by which a run is judged to be alive, and how a run ends that never
-- said so itself (contract §10 "Time", "Lost").

-- The database's own clock, at the transaction that stored the event; null for events stored before this migration.
alter table events add column if not exists received_at timestamptz;
alter table events alter column received_at set default now();

-- The last receipt of any event; that of the last event that was a sign of life, and no replay; the latest
-- differences between receipt and sending, in seconds, the newest last.
alter table batch_progress add column if not exists last_received_at timestamptz;
alter table batch_progress add column if not exists last_live_at timestamptz;
alter table batch_progress add column if not exists clock_skews double precision[] not null default '{}';
-- GPU samples below 5% since the last one that was not.
alter table batch_progress add column if not exists gpu_low_samples integer not null default 0;
alter table job_progress add column if not exists gpu_low_samples integer not null default 0;

-- The process that reports the batch, as its first batch_start said: {pid, start_time, boot_id}.
alter table batches add column if not exists process jsonb;
-- An end that the service or a person gave the batch, because its reporter gave none:
-- {status: lost | failed | stopped, at, reason}. An event that was made after `at` takes it back.
alter table batches add column if not exists closing jsonb;

alter table batches drop constraint if exists batches_status_check;
alter table batches add constraint batches_status_check
  check (status in ('running', 'completed', 'failed', 'stopped', 'lost')) not valid;
