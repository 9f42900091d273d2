-- The identity of an event (031) is its primary key.
do $$ begin
  if to_regclass('events_identity') is not null then
    alter table events drop constraint events_pkey;
    alter table events add constraint events_pkey primary key using index events_identity;
  end if;
end $$;
