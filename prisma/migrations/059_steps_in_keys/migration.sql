-- The keys have the high part of a step. From here on a server of an earlier release, which does not name it, is refused
-- as in 041: it would read and write steps of more than 32 bits at other places.
do $$
declare
  distributed boolean := false;
begin
  if to_regclass('pg_dist_partition') is not null then
    execute 'select exists (select from pg_dist_partition where logicalrelid = ''epochs''::regclass)' into distributed;
  end if;
  if distributed then
    -- Citus makes no key of an index: it builds the key, and writers of the table wait.
    if to_regclass('epochs_step_key') is not null then
      alter table epochs drop constraint if exists epochs_pkey;
      alter table epochs add constraint epochs_pkey primary key (batch_key, job_key, epoch_high, epoch);
      drop index epochs_step_key;
    end if;
    if to_regclass('metric_chunks_step_key') is not null then
      alter table metric_chunks drop constraint if exists metric_chunks_pkey;
      alter table metric_chunks add constraint metric_chunks_pkey
        primary key (batch_key, job_key, series_no, first_high, first_epoch);
      drop index metric_chunks_step_key;
    end if;
  else
    if to_regclass('epochs_step_key') is not null then
      alter table epochs drop constraint if exists epochs_pkey;
      alter table epochs add constraint epochs_pkey primary key using index epochs_step_key;
    end if;
    if to_regclass('metric_chunks_step_key') is not null then
      alter table metric_chunks drop constraint if exists metric_chunks_pkey;
      alter table metric_chunks add constraint metric_chunks_pkey primary key using index metric_chunks_step_key;
    end if;
  end if;
end $$;
alter table epochs alter column epoch_high set default refuse_older_release();
alter table metric_chunks alter column first_high set default refuse_older_release();
