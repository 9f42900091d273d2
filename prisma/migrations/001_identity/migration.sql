-- Users, their sessions and tokens, and the keys that sign sessions (contract §3).

create table if not exists users (
  id            uuid primary key default gen_random_uuid(),
  email         text not null,
  -- What an address is compared by: lower case. Kept beside the address as it was written.
  email_key     text not null unique,
  name          text not null,
  role          text not null default 'user' check (role in ('admin', 'user')),
  -- argon2id; null for an account that only signs in elsewhere.
  password_hash text,
  disabled_at   timestamptz,
  created_at    timestamptz not null default now()
);

create table if not exists sessions (
  id           uuid primary key default gen_random_uuid(),
  user_id      uuid not null references users (id) on delete cascade,
  -- SHA-256 of what the browser's cookie holds. The JWT of the same session names its id instead.
  cookie_hash  bytea not null unique,
  created_at   timestamptz not null default now(),
  last_used_at timestamptz not null default now(),
  closed_at    timestamptz
);
create index if not exists sessions_user on sessions (user_id);

create table if not exists signing_keys (
  kid        text primary key,
  -- Their order; two rotations may fall on one instant.
  number     bigint generated always as identity,
  secret     bytea not null,
  created_at timestamptz not null default now(),
  -- Set when another key became the active one; the key then only verifies.
  retired_at timestamptz
);
create unique index if not exists signing_keys_active on signing_keys ((true)) where retired_at is null;

create table if not exists tokens (
  id           uuid primary key default gen_random_uuid(),
  user_id      uuid not null references users (id) on delete cascade,
  name         text not null,
  scope        text not null check (scope in ('reporter', 'read')),
  -- SHA-256 of the whole token; the token itself is shown once and kept nowhere.
  hash         bytea not null unique,
  last4        text not null,
  created_at   timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at   timestamptz
);
create index if not exists tokens_user on tokens (user_id);
create index if not exists users_by_creation on users (created_at desc, id desc);

-- Who did what that others must be able to answer for: roles, accounts, keys, tokens, stops and reruns.
create table if not exists audit_log (
  id       bigint generated always as identity primary key,
  at       timestamptz not null,
  actor_id uuid references users (id) on delete set null,
  -- The kind of credential: cookie, session, reporter, read, agent.
  via      text not null,
  -- Noun and verb, such as `user.role_changed`.
  action   text not null,
  -- What it was done to, such as `user:<id>`.
  subject  text not null,
  detail   jsonb not null default '{}'
);
create index if not exists audit_log_subject on audit_log (subject, id desc);
