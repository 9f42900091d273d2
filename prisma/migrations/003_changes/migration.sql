-- The log of changes that the live stream reads (contract §6). Rows are appended as the last statement of a
-- transaction, under one advisory lock, so the order of seq is the order of commits, across servers too.
create table if not exists changes (
  seq     bigint generated always as identity primary key,
  at      timestamptz not null default now(),
  channel text not null,
  type    text not null,
  -- JSON text, sent on as it is.
  payload text not null
);
-- Payloads of a large group are many kilobytes: lz4 costs a tenth of the default's time. Not every build has it.
do $$ begin
  alter table changes alter column payload set compression lz4;
  alter table events alter column payload set compression lz4;
exception when feature_not_supported then null;
end $$;
create index if not exists changes_channel on changes (channel, seq);
create index if not exists changes_at on changes using brin (at);
