-- Holds for new rows at once; 040 looks through the others.
do $$ begin
  if not exists (select from pg_constraint where conname = 'epochs_batch_known') then
    alter table epochs add constraint epochs_batch_known check (batch_key is not null) not valid;
  end if;
  if not exists (select from pg_constraint where conname = 'metric_chunks_batch_known') then
    alter table metric_chunks add constraint metric_chunks_batch_known check (batch_key is not null) not valid;
  end if;
end $$;
