-- Attempts of a job (src/domain/attempts), read from what is stored.

-- The starts and ends of a job (job_start 3, job_done 5, job_failed 6 of events.type): two entries in a job's life, where
-- an index over its epochs as well would cost every event one.
create index if not exists events_marks on events (job_key, ts) where type in (3, 5, 6);

-- From a batch to those that reran it. By hash, because what was sent as rerun_of may be longer than an entry of a tree.
create index if not exists batches_rerun_of on batches using hash (rerun_of) where rerun_of is not null;
