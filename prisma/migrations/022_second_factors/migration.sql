-- Second factors, passkeys, what is known of a session, and from where audited actions came.

alter table sessions add column if not exists user_agent text;
-- Where it was used last, and where it was opened. Sign-ins from the latter are known places of the account.
alter table sessions add column if not exists address text;
alter table sessions add column if not exists opened_from text;
-- How the person signed in: registration, password, totp, recovery_code, passkey, provider.
alter table sessions add column if not exists method text;

alter table audit_log add column if not exists address text;
create index if not exists audit_log_actor on audit_log (actor_id, id desc);
create index if not exists audit_log_action on audit_log (action, id desc);

-- One authenticator app per account. It counts once a code of it was confirmed.
create table if not exists totp_factors (
  user_id      uuid primary key references users (id) on delete cascade,
  -- Sealed with SVC_ENCRYPTION_KEY where that is set (src/domain/factors/seal.ts).
  secret       bytea not null,
  created_at   timestamptz not null,
  confirmed_at timestamptz,
  -- The time step of the last code that was accepted: it and earlier ones are refused from then on.
  last_step    bigint not null default 0
);

create table if not exists recovery_codes (
  -- SHA-256 of 80 random bits.
  hash    bytea primary key,
  user_id uuid not null references users (id) on delete cascade,
  used_at timestamptz
);
create index if not exists recovery_codes_user on recovery_codes (user_id);

create table if not exists passkeys (
  id            uuid primary key default gen_random_uuid(),
  user_id       uuid not null references users (id) on delete cascade,
  credential_id text not null unique,
  public_key    bytea not null,
  counter       bigint not null default 0,
  transports    text[] not null default '{}',
  -- The host that it was made for: a browser offers it there only.
  rp_id         text not null,
  name          text not null,
  backed_up     boolean not null default false,
  created_at    timestamptz not null,
  last_used_at  timestamptz
);
create index if not exists passkeys_user on passkeys (user_id);

-- What a client must answer within minutes: a second factor after the password, or a signature of a passkey.
create table if not exists sign_in_challenges (
  -- SHA-256 of what the client was given.
  hash       bytea primary key,
  kind       text not null,
  -- Null while nobody is known: signing in with a passkey.
  user_id    uuid references users (id) on delete cascade,
  tries      integer not null default 0,
  expires_at timestamptz not null
);
create index if not exists sign_in_challenges_expiry on sign_in_challenges (expires_at);
create index if not exists sign_in_challenges_user on sign_in_challenges (user_id) where user_id is not null;
