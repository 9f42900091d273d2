-- The key of 042.
create unique index concurrently if not exists metric_chunks_key on metric_chunks (batch_key, job_key, series_no, first_epoch);
