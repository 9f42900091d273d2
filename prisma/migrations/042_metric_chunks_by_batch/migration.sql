-- As 041.
drop trigger if exists metric_chunks_take_batch on metric_chunks;
alter table metric_chunks alter column batch_key set default refuse_older_release();
alter table metric_chunks alter column batch_key set not null;
do $$ begin
  if to_regclass('metric_chunks_key') is not null then
    alter table metric_chunks drop constraint metric_chunks_pkey;
    alter table metric_chunks add constraint metric_chunks_pkey primary key using index metric_chunks_key;
  end if;
end $$;
alter table metric_chunks drop constraint if exists metric_chunks_batch_known;
