-- Signing in through identity providers (specification §4.4, contract §3).

create table if not exists identities (
  id           uuid primary key default gen_random_uuid(),
  user_id      uuid not null references users (id) on delete cascade,
  -- Who vouches for it, and whom: together they name a person, and nothing else of what a provider says does.
  issuer       text not null,
  subject      text not null,
  -- The address that the provider told last; shown to its owner, compared with nothing.
  email        text,
  created_at   timestamptz not null,
  last_used_at timestamptz not null,
  unique (issuer, subject)
);
create index if not exists identities_user on identities (user_id);

-- Sign-ins that were begun and have not come back: each opens once, in the browser that began it.
create table if not exists oauth_attempts (
  -- SHA-256 of the state that travels, and of what the browser's cookie holds.
  state_hash    bytea primary key,
  browser_hash  bytea not null,
  -- The provider's name here.
  idp           text not null,
  nonce         text not null,
  code_verifier text not null,
  -- Where the provider was told to send the browser back to.
  redirect_uri  text not null,
  -- Where in the page to go then.
  return_to     text not null,
  -- Set when a signed-in user adds the identity to the account.
  link_user_id  uuid references users (id) on delete cascade,
  expires_at    timestamptz not null
);
create index if not exists oauth_attempts_expiry on oauth_attempts (expires_at);
create index if not exists oauth_attempts_user on oauth_attempts (link_user_id) where link_user_id is not null;
