-- The key begins with the batch. From here on a server of an earlier release, which does not name it, is refused as if
-- the database were away: it answers 503, and its reporters send again.
create or replace function refuse_older_release() returns bigint language plpgsql volatile as $$
begin
  raise exception 'a newer release of the service has migrated this database: stop this server'
    using errcode = 'cannot_connect_now';
end $$;

drop trigger if exists epochs_take_batch on epochs;
alter table epochs alter column batch_key set default refuse_older_release();
-- Known from the constraint of 040: the table is not read.
alter table epochs alter column batch_key set not null;
do $$ begin
  if to_regclass('epochs_key') is not null then
    alter table epochs drop constraint epochs_pkey;
    alter table epochs add constraint epochs_pkey primary key using index epochs_key;
  end if;
end $$;
alter table epochs drop constraint if exists epochs_batch_known;
