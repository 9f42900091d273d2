-- What reading and sharing need (contract §2, §4): an index behind every filter of the lists, in the order of the
-- lists, so that a page costs a page; public links; the pages of the audit log come by its key.

-- Substring search uses trigrams where the server has them (an extension that a database's owner may create);
-- elsewhere `q` reads in the order of the list.
do $$
begin
  if exists (select from pg_available_extensions where name = 'pg_trgm') then
    create extension if not exists pg_trgm;
  end if;
exception when insufficient_privilege then
  raise notice 'pg_trgm cannot be created here: searching batches will be slower';
end $$;

-- PostgreSQL calls array_to_string stable for the sake of types whose text depends on settings; text does not.
create or replace function batch_search_text(id text, experiment_type text, command text, notes text, tags text[])
  returns text language sql immutable parallel safe
  return lower(concat_ws(chr(10), id, experiment_type, command, notes, array_to_string(tags, chr(10))));

-- Filters compare without case, and the first 200 characters: an index entry has room for no more than a third of a
-- page, and a model may be named by pages of text.
create or replace function filter_text(word text)
  returns text language sql immutable parallel safe
  return lower(left(word, 200));
create or replace function filter_texts(words text[])
  returns text[] language sql immutable parallel safe
  return array(select lower(left(w, 200)) from unnest(words) as u (w));

alter table batches add column if not exists search text
  generated always as (batch_search_text(id, experiment_type, command, notes, tags)) stored;
do $$
begin
  if exists (select from pg_extension where extname = 'pg_trgm') then
    create index if not exists batches_search on batches using gin (search gin_trgm_ops) where deleted_at is null;
  end if;
end $$;
create index if not exists batches_by_status on batches (status, started_at desc, key desc) where deleted_at is null;
create index if not exists batches_by_host on batches (filter_text(host), started_at desc, key desc) where deleted_at is null;
create index if not exists batches_by_owner on batches (owner_id, started_at desc, key desc) where deleted_at is null;
create index if not exists batches_by_tag on batches using gin (filter_texts(tags)) where deleted_at is null;
-- How frequent a tag is decides between its index and the order of the list.
create statistics if not exists batches_tags on (filter_texts(tags)) from batches;
create index if not exists batches_deleted on batches (deleted_at, key) where deleted_at is not null;

-- A job's project, so that the list of a project's jobs comes in its order without looking at other projects'. A
-- batch never changes its project; the trigger keeps whoever creates jobs from having to know.
alter table jobs add column if not exists project_key integer references projects (key);
update jobs j set project_key = b.project_key from batches b where b.key = j.batch_key and j.project_key is null;
alter table jobs alter column project_key set not null;
create or replace function jobs_take_project() returns trigger language plpgsql as $$
begin
  select b.project_key into new.project_key from batches b where b.key = new.batch_key;
  return new;
end $$;
create or replace trigger jobs_take_project before insert on jobs for each row execute function jobs_take_project();

create index if not exists jobs_by_project on jobs (project_key, started_at desc, key desc);
create index if not exists jobs_by_batch on jobs (batch_key, started_at desc, key desc);
create index if not exists jobs_by_status on jobs (status, started_at desc, key desc);
create index if not exists jobs_by_model on jobs (filter_text(model), started_at desc, key desc);
create index if not exists jobs_by_dataset on jobs (filter_text(dataset), started_at desc, key desc);

create index if not exists projects_by_creation on projects (created_at desc, key desc);
create index if not exists projects_by_name on projects (lower(slug));

-- Public links to one batch.
create table if not exists shares (
  id         uuid primary key default gen_random_uuid(),
  batch_key  bigint not null references batches (key) on delete cascade,
  -- SHA-256 of the token; the token itself is shown once and kept nowhere.
  token_hash bytea not null unique,
  -- Hides who ran it, where, its paths and its log lines.
  anonymous  boolean not null default false,
  created_by uuid not null references users (id),
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  revoked_at timestamptz
);
create index if not exists shares_batch on shares (batch_key, created_at desc, id desc);
