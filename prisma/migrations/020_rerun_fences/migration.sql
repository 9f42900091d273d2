-- Fences around reruns (docs/agent.md).

-- What entitles an agent to run a command: its own record of the run, or the words of the batch's owner, who gave the
-- command in a session.
alter table agent_commands add column if not exists authorized_by text not null default 'record'
  check (authorized_by in ('record', 'owner_words'));
update agent_commands set authorized_by = 'owner_words'
  where kind = 'rerun' and 'command' = any (overridden) and authorized_by = 'record' and state = 'pending';

-- When the agent's token was last replaced by another registration of its host.
alter table agents add column if not exists rotated_at timestamptz;

-- The one batch that a token made for a rerun's process reports, once it has begun to. Tokens of reruns that run
-- while this is applied go on with the batch that they report.
alter table tokens add column if not exists batch_id text;
update tokens t set batch_id = (
    select b.id from command_batches l join batches b on b.key = l.batch_key
    where l.command_id = t.command_id order by l.linked_at, l.batch_key limit 1)
  where t.command_id is not null and t.batch_id is null and t.revoked_at is null;
-- A token ends with its command.
update tokens t set revoked_at = c.finished_at from agent_commands c
  where c.id = t.command_id and t.revoked_at is null and c.finished_at is not null;

-- Starts that contradict what the first start of their batch settled. They changed nothing.
create table if not exists start_conflicts (
  id         bigint generated always as identity primary key,
  batch_key  bigint not null,
  at         timestamptz not null,
  user_id    uuid,
  -- The token that sent it, as its owner knows it.
  token_name text,
  last4      text,
  fields     text[] not null,
  -- Its command, cwd and host.
  said       jsonb not null,
  -- Of the fields and what was said: the same again is recorded once.
  digest     text not null,
  unique (batch_key, digest)
);
