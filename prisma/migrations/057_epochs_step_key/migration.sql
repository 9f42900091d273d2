-- The key of 059.
create unique index concurrently if not exists epochs_step_key on epochs (batch_key, job_key, epoch_high, epoch);
