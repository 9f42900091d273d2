-- Chunks that repeat (times, constants, counts, values of few digits) are compressed by PostgreSQL where they lie; values that
-- are all different stay as they are, after a look at their first kilobyte. Chunks from before are read as ever.
alter table metric_chunks alter column vals set storage main;
