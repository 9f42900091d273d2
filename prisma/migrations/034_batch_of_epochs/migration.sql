-- Every telemetry table names the batch of its rows, and its key begins with it, so that the tables can be distributed
-- by batch (docs/decisions/0023-keys-of-batches.md). 034 to 043 do that beside running servers: the column, which a
-- trigger fills for servers of earlier releases (034); the rows that are there (035); the keys (036 to 038); the proof
-- that no row lacks its batch (039, 040); the change of the primary keys (041 to 043).
alter table epochs add column if not exists batch_key bigint;
alter table metric_chunks add column if not exists batch_key bigint;

create or replace function take_batch_of_job() returns trigger language plpgsql as $$
begin
  select p.batch_key into new.batch_key from job_progress p where p.job_key = new.job_key;
  return new;
end $$;
create or replace trigger epochs_take_batch before insert on epochs
  for each row when (new.batch_key is null) execute function take_batch_of_job();
create or replace trigger metric_chunks_take_batch before insert on metric_chunks
  for each row when (new.batch_key is null) execute function take_batch_of_job();
