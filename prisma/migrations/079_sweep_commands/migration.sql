-- Servers of earlier releases may run on it.
-- Commands by which workers of a sweep were started, as these recorded them: agents start more workers with them.
create table if not exists sweep_commands (
  id          uuid primary key default gen_random_uuid(),
  sweep_id    text not null references sweeps (id) on delete cascade,
  -- Whose token recorded it.
  user_id     uuid not null references users (id) on delete cascade,
  host        text not null,
  command     text not null,
  cwd         text not null,
  -- Whether secrets were removed from it, so that it cannot be run again.
  redacted    boolean not null default false,
  -- SHA-256 of command and folder: of long ones, too.
  hash        text not null,
  recorded_at timestamptz not null
);
create unique index if not exists sweep_commands_same on sweep_commands (sweep_id, user_id, host, hash);

alter table sweep_trials
  -- Whether its worker was evicted last, which says nothing about its parameters.
  add column if not exists evicted boolean not null default false,
  -- How many workers were lost during it otherwise.
  add column if not exists deaths integer not null default 0;
