-- Servers of earlier releases may run on it: they hand queued trials out as lost ones, later.
-- Trials that people asked for: failed ones once more, and parameters again with other seeds.
alter table sweep_trials add column if not exists queued boolean not null default false;
alter table sweeps
  -- Trials that no method proposed; max_trials does not count them.
  add column if not exists extra integer not null default 0,
  -- How many trials had been proposed when the space was edited last: a grid starts again from there.
  add column if not exists space_start integer not null default 0;

-- Spaces that a sweep had before.
create table if not exists sweep_edits (
  id          bigint generated always as identity primary key,
  sweep_id    text not null references sweeps (id) on delete cascade,
  -- The first trial of the space that followed.
  from_number integer not null,
  parameters  jsonb not null,
  edited_by   uuid references users (id) on delete set null,
  edited_at   timestamptz not null
);
create index if not exists sweep_edits_sweep on sweep_edits (sweep_id, id);
