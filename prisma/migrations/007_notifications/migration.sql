-- Notification rules, what fired them, and what became of each mail (specification §1.9, §6.4; contract §7).

create table if not exists notification_rules (
  id           uuid primary key default gen_random_uuid(),
  project_key  integer not null references projects (key) on delete cascade,
  name         text not null,
  trigger      text not null check (trigger in
               ('batch_done', 'batch_failed', 'job_failed', 'batch_stalled', 'job_idle', 'agent_offline', 'metric')),
  -- Of a metric rule: {key, op, value}.
  condition    jsonb,
  -- In place of the project's recipients; null: those.
  recipients   text[],
  enabled      boolean not null default true,
  cooldown_s   integer not null default 0,
  -- When it last fired a mail: what the cooldown counts from.
  last_mail_at timestamptz,
  created_at   timestamptz not null
);
create index if not exists notification_rules_project on notification_rules (project_key, created_at desc, id desc);

-- One row a rule and event, or a rule and episode: whatever repeats finds it standing.
create table if not exists notification_firings (
  id          bigint generated always as identity primary key,
  rule_id     uuid not null references notification_rules (id) on delete cascade,
  event_key   text not null,
  -- What the rule watched for then; null for a test mail.
  trigger     text,
  batch_key   bigint,
  job_key     bigint,
  happened_at timestamptz not null,
  fired_at    timestamptz not null,
  -- What was decided in that same transaction: a mail, or none because of the cooldown or a muted batch.
  outcome     text not null check (outcome in ('mail', 'cooldown', 'muted')),
  -- What the mail says besides: the reason, the value of a metric.
  detail      jsonb not null default '{}',
  unique (rule_id, event_key)
);

-- One row a mail and recipient, from the moment at which the message is handed to the mail server.
create table if not exists notification_mails (
  firing_id   bigint not null references notification_firings (id) on delete cascade,
  address_key text not null,
  -- begun: handed over, no answer yet. sent: accepted. unknown: whoever handed it over was gone before the answer.
  -- refused: the server will never take it. logged: no server is configured.
  state       text not null check (state in ('begun', 'sent', 'unknown', 'refused', 'logged')),
  at          timestamptz not null,
  error       text,
  primary key (firing_id, address_key)
);

-- Whoever was sent mail of a project, with the secret of the links in it.
create table if not exists notification_recipients (
  id          uuid primary key default gen_random_uuid(),
  project_key integer not null references projects (key) on delete cascade,
  address_key text not null,
  token       text not null unique,
  unique (project_key, address_key)
);

-- What is not to be mailed: to one recipient, or, without one, to anybody. Of one rule, of one batch, or of the whole
-- project where neither is named.
create table if not exists notification_mutes (
  id           bigint generated always as identity primary key,
  project_key  integer not null references projects (key) on delete cascade,
  recipient_id uuid references notification_recipients (id) on delete cascade,
  rule_id      uuid references notification_rules (id) on delete cascade,
  batch_key    bigint references batches (key) on delete cascade,
  created_at   timestamptz not null,
  unique nulls not distinct (project_key, recipient_id, rule_id, batch_key)
);
create index if not exists notification_mutes_batch on notification_mutes (batch_key) where batch_key is not null;

-- The ends that rules watch for, a few in a thousand events: what a preview counts (types 1, 2 and 6 of
-- src/domain/events/incoming.ts).
create index if not exists events_ends on events (batch_key, ts) where type in (1, 2, 6);
