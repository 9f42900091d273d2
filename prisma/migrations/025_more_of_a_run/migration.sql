-- More of a run (contract §10): a name, a group and a configuration of each batch, what people mark it with, the
-- tracebacks of failures, the stream that a log line came from, the unit of a job's steps.

alter table batches add column if not exists name text;
-- `group` is a reserved word.
alter table batches add column if not exists group_name text;
alter table batches add column if not exists config jsonb;
-- What the run itself set, such as the best accuracy.
alter table batches add column if not exists summary jsonb;
alter table batches add column if not exists traceback text;
alter table batches add column if not exists starred boolean not null default false;
alter table batches add column if not exists archived boolean not null default false;
-- Which of name, group and notes a person has edited: events no longer set those.
alter table batches add column if not exists edited text[] not null default '{}';
-- How name, group, notes, config and summary were merged from several events (src/domain/merge.ts).
alter table batches add column if not exists detail_fields jsonb;

alter table jobs add column if not exists traceback text;
-- What one step of the job's series counts, such as tokens; null: epochs.
alter table jobs add column if not exists step_unit text;
-- Ended early because another job did better.
alter table jobs add column if not exists pruned boolean not null default false;

-- stdout or stderr; null for what was logged otherwise.
alter table log_lines add column if not exists stream text;

-- Configurations that earlier starts brought.
update batches set config = start_fields -> 'values' -> 'config',
  detail_fields = jsonb_build_object(
    'stamp', start_fields ->> 'stamp',
    'values', (select jsonb_object_agg('config/' || c.key, c.value)
               from jsonb_each(start_fields -> 'values' -> 'config') as c))
where config is null and detail_fields is null
  and jsonb_typeof(start_fields -> 'values' -> 'config') = 'object'
  and start_fields -> 'values' -> 'config' <> '{}';

-- Notes that stand already were written by people: only they could.
update batches set edited = '{notes}'
where notes <> '' and edited = '{}' and not coalesce(detail_fields -> 'values' ? 'notes', false);

create index if not exists batches_by_group on batches (filter_text(group_name), started_at desc, key desc)
  where deleted_at is null;
create index if not exists batches_by_star on batches (started_at desc, key desc) where starred and deleted_at is null;
do $$
begin
  if exists (select from pg_extension where extname = 'pg_trgm') then
    create index if not exists batches_search_name on batches
      using gin (batch_search_text(name, group_name, null, null, null) gin_trgm_ops) where deleted_at is null;
  end if;
end $$;
