-- What lists of batches are ordered and narrowed by, under names that users gave (docs/decisions/0028-fields-of-batches.md):
-- written behind ingest (src/domain/batches/stored-fields.ts) while nothing changes a batch, and used only while
-- `fields_known`. Until then a list computes them, so it is right at any time, and the rows that are there need no filling.
alter table batch_progress add column if not exists fields_known boolean not null default false;

create table if not exists batch_fields (
  batch_key bigint not null references batches (key) on delete cascade,
  field     text not null,
  -- As lists are ordered (src/domain/keyset-pages.ts): 0 a number, 1 a text, 2 NaN.
  rank      integer not null,
  -- 0 where it is no number.
  number    double precision not null,
  -- '' where it is no text; its beginning.
  word      text collate "C" not null,
  -- The batch's start in microseconds, negative in fields that are listed ascending: newest first in the order of the index.
  newest    bigint not null
);
create index if not exists batch_fields_batch on batch_fields (batch_key, field);
create index if not exists batch_fields_order on batch_fields (field, rank, number, word, newest) include (batch_key);

-- Whoever changes a job of a batch writes the batch's row here (002_telemetry), so this sees every change, of whichever
-- release. A row whose fields are not known is not touched: ingest pays for one comparison.
create or replace function forget_batch_fields() returns trigger language plpgsql as $$
begin
  new.fields_known := false;
  return new;
end $$;
create or replace trigger batch_progress_forget_fields before update on batch_progress
  for each row when (old.fields_known) execute function forget_batch_fields();
