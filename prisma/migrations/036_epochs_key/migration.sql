-- The key of 041.
create unique index concurrently if not exists epochs_key on epochs (batch_key, job_key, epoch);
