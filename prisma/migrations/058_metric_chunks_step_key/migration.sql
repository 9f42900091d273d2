-- The key of 059.
create unique index concurrently if not exists metric_chunks_step_key on metric_chunks (batch_key, job_key, series_no, first_high, first_epoch);
