-- Agents on the hosts, the commands that they run, and what became of each (specification §2.3, §3.3, §3.4, contract §5).

create table if not exists agents (
  -- What the log of changes names it by.
  key           bigint generated always as identity unique,
  id            uuid primary key default gen_random_uuid(),
  user_id       uuid not null references users (id) on delete cascade,
  hostname      text not null,
  capabilities  jsonb not null default '{}',
  version       text not null,
  -- SHA-256 of the one token that holds, and the name by which its bearers are known; both null once revoked.
  -- Another name with every token, so that what was remembered of the old one counts no more.
  token_hash    bytea unique,
  token_id      uuid unique,
  -- The first time.
  registered_at timestamptz not null,
  last_seen_at  timestamptz not null,
  -- When the stream last told of its signs of life.
  told_at       timestamptz not null,
  -- The last heartbeat that said what runs: [{cmd_id, pid}], and when it came.
  running       jsonb not null default '[]',
  running_at    timestamptz,
  revoked_at    timestamptz,
  unique (user_id, hostname)
) with (fillfactor = 50);

create table if not exists agent_commands (
  id             uuid primary key default gen_random_uuid(),
  -- Their order.
  number         bigint generated always as identity,
  agent_id       uuid not null references agents (id) on delete cascade,
  kind           text not null check (kind in ('rerun', 'stop')),
  -- The batch that is to be run again, or to be stopped.
  batch_key      bigint not null references batches (key) on delete cascade,
  -- Of a stop: the rerun whose process is to end.
  target_id      uuid references agent_commands (id) on delete cascade,
  state          text not null default 'pending'
                 check (state in ('pending', 'in_flight', 'done', 'failed', 'expired', 'cancelled')),
  command        text,
  cwd            text,
  env            jsonb not null default '{}',
  -- Which of command and cwd the owner gave in place of what was recorded.
  overridden     text[] not null default '{}',
  jobs           text check (jobs in ('all', 'failed')),
  pid            bigint,
  exit_code      integer,
  failure_reason text,
  -- The end of what the process wrote, where the agent sent it.
  output_tail    text,
  requested_by   uuid references users (id) on delete set null,
  created_at     timestamptz not null,
  delivered_at   timestamptz,
  -- When the agent said that it is about to start the process: from then on it cannot be taken back.
  claimed_at     timestamptz,
  acked_at       timestamptz,
  finished_at    timestamptz
);
create index if not exists agent_commands_open on agent_commands (agent_id, number) where state in ('pending', 'in_flight');
create index if not exists agent_commands_batch on agent_commands (batch_key, number desc);
create index if not exists agent_commands_target on agent_commands (target_id) where target_id is not null;

-- Which process of an agent reports a batch: the rerun that started it.
create table if not exists command_batches (
  batch_key  bigint primary key references batches (key) on delete cascade,
  command_id uuid not null references agent_commands (id) on delete cascade,
  linked_at  timestamptz not null
);
create index if not exists command_batches_command on command_batches (command_id);

-- What happened around a rerun or a stop, step by step; each step of a command happens once.
create table if not exists control_steps (
  id         bigint generated always as identity primary key,
  batch_key  bigint not null references batches (key) on delete cascade,
  command_id uuid references agent_commands (id) on delete cascade,
  step       text not null,
  at         timestamptz not null,
  actor_kind text not null check (actor_kind in ('user', 'agent', 'reporter', 'service')),
  -- The user, or the agent.
  actor_id   uuid,
  detail     jsonb not null default '{}',
  unique nulls not distinct (batch_key, command_id, step)
);
create index if not exists control_steps_command on control_steps (command_id);

-- A reporter token that was made for the process of one command.
alter table tokens add column if not exists command_id uuid references agent_commands (id) on delete set null;
create index if not exists tokens_command on tokens (command_id) where command_id is not null;
