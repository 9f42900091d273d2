-- Which addresses are confirmed, who is invited where, and how much mail an hour may bring (specification §1.10, §6.4).

-- When the account's owner proved that the address is theirs; null: never.
alter table users add column if not exists email_verified_at timestamptz;

-- Addresses whose owner agreed to mail of this service, or wants none of it at all.
create table if not exists mail_addresses (
  address_key  text primary key,
  confirmed_at timestamptz,
  stopped_at   timestamptz
);

-- Links that ask the owner of an address to confirm it. The token is stored as its hash, once the mail is written.
create table if not exists address_confirmations (
  id           uuid primary key default gen_random_uuid(),
  -- account: the address is that of the account. mail: its owner agrees to mail.
  purpose      text not null check (purpose in ('account', 'mail')),
  address      text not null,
  address_key  text not null,
  user_id      uuid references users (id) on delete cascade,
  requested_by uuid references users (id) on delete set null,
  project_key  integer references projects (key) on delete set null,
  requested_at timestamptz not null,
  expires_at   timestamptz not null,
  token_hash   bytea unique,
  sent_at      timestamptz,
  used_at      timestamptz
);
create index if not exists address_confirmations_address on address_confirmations (address_key, requested_at);
create index if not exists address_confirmations_requester on address_confirmations (requested_by, requested_at);
create index if not exists address_confirmations_expiry on address_confirmations (expires_at);

create table if not exists project_invitations (
  id          uuid primary key default gen_random_uuid(),
  project_key integer not null references projects (key) on delete cascade,
  user_id     uuid not null references users (id) on delete cascade,
  role        text not null check (role in ('member', 'viewer')),
  invited_by  uuid references users (id) on delete set null,
  created_at  timestamptz not null,
  unique (project_key, user_id)
);
create index if not exists project_invitations_user on project_invitations (user_id, created_at desc, id desc);

-- Mails counted by hour: of a project, and to an address.
create table if not exists mail_budgets (
  scope text not null,
  hour  timestamptz not null,
  sent  integer not null,
  primary key (scope, hour)
);
create index if not exists mail_budgets_hour on mail_budgets (hour);

-- Mails that the budgets held back, until a digest tells of them.
create table if not exists mail_held (
  firing_id   bigint not null references notification_firings (id) on delete cascade,
  address_key text not null,
  address     text not null,
  held_at     timestamptz not null,
  -- begun: the digest was handed over, no answer yet. The rest as in notification_mails.
  state       text not null default 'waiting' check (state in ('waiting', 'begun', 'sent', 'unknown', 'refused')),
  primary key (firing_id, address_key)
);
create index if not exists mail_held_waiting on mail_held (address_key, held_at) where state = 'waiting';
