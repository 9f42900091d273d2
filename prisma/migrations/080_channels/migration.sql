-- Where a rule sends its messages, and what became of each message (contract §11 "Channels").

-- A rule without rows sends mail.
create table if not exists notification_channels (
  id         uuid primary key default gen_random_uuid(),
  rule_id    uuid not null references notification_rules (id) on delete cascade,
  place      smallint not null,
  kind       text not null check (kind in ('mail', 'webhook', 'slack', 'discord', 'teams', 'ntfy')),
  -- The part that may be shown: url, has_secret.
  shown      jsonb not null default '{}',
  -- Addresses and secrets, as JSON, encrypted if the service has a key (src/domain/seal.ts).
  sealed     bytea,
  created_at timestamptz not null
);
create index if not exists notification_channels_rule on notification_channels (rule_id, place);

-- The outbox of rules: one row for each message and destination, now of channels too.
alter table notification_mails
  add column if not exists id uuid not null default gen_random_uuid(),
  add column if not exists kind text not null default 'mail',
  -- Null: a mail, or the channel was removed.
  add column if not exists channel_id uuid references notification_channels (id) on delete set null,
  add column if not exists target text,
  -- The message as it was written first, so that every attempt sends the same.
  add column if not exists message jsonb,
  add column if not exists attempts integer not null default 1,
  -- The next attempt of a message that waits for one.
  add column if not exists next_at timestamptz,
  -- The status and the beginning of the body of the last answer.
  add column if not exists status smallint,
  add column if not exists body text,
  add column if not exists created_at timestamptz;
create unique index if not exists notification_mails_id on notification_mails (id);
create index if not exists notification_mails_channel on notification_mails (channel_id) where channel_id is not null;
create index if not exists notification_firings_rule on notification_firings (rule_id, id desc);

-- waiting: not accepted yet, and tried again. failed: not accepted within a day. cancelled: no longer wanted.
alter table notification_mails drop constraint if exists notification_mails_state_check;
alter table notification_mails add constraint notification_mails_state_check check (state in
  ('begun', 'sent', 'unknown', 'refused', 'logged', 'waiting', 'failed', 'cancelled'));
