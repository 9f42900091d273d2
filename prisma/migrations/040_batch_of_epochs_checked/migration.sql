-- Reads the tables under a lock that lets others read and write.
do $$ begin
  if exists (select from pg_constraint where conname = 'epochs_batch_known') then
    alter table epochs validate constraint epochs_batch_known;
  end if;
  if exists (select from pg_constraint where conname = 'metric_chunks_batch_known') then
    alter table metric_chunks validate constraint metric_chunks_batch_known;
  end if;
end $$;
