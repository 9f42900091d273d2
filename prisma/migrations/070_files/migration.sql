-- Bytes of runs (docs/files.md). Content is stored once in a project, under its SHA-256; what refers to it keeps it.
create table if not exists contents (
  key                bigint generated always as identity primary key,
  project_key        integer not null references projects (key),
  sha256             bytea not null,
  size               bigint not null,
  -- Where it is in the store; empty for the empty content. A name is used once, ever.
  object             text not null,
  -- What its first bytes say, for the types that browsers may show; null for all others.
  media_type         text,
  created_at         timestamptz not null default now(),
  -- Since when nothing refers to it, as far as the sweeper has seen.
  unreferenced_since timestamptz,
  unique (project_key, sha256)
);

-- Content on its way. One that has all its bytes stays until the sweeper removes it, so that a client can ask again.
create table if not exists uploads (
  id          uuid primary key default gen_random_uuid(),
  project_key integer not null references projects (key),
  user_id     uuid not null references users (id),
  sha256      bytea not null,
  size        bigint not null,
  received    bigint not null default 0,
  object      text not null,
  -- What the store needs to continue.
  progress    jsonb,
  busy_by     uuid,
  busy_until  timestamptz,
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now(),
  unique (project_key, user_id, sha256, size)
);
create index if not exists uploads_updated on uploads (updated_at);

create table if not exists batch_files (
  batch_key   bigint not null references batches (key),
  path        text collate "C" not null,
  job_id      text,
  content_key bigint not null references contents (key),
  -- As declared.
  media_type  text,
  created_at  timestamptz not null default now(),
  primary key (batch_key, path)
);
create index if not exists batch_files_content on batch_files (content_key);

-- Files that were declared and whose content has not arrived.
create table if not exists file_claims (
  batch_key   bigint not null references batches (key),
  path        text collate "C" not null,
  job_id      text,
  project_key integer not null references projects (key),
  sha256      bytea not null,
  size        bigint not null,
  media_type  text,
  declared_at timestamptz not null default now(),
  primary key (batch_key, path)
);
create index if not exists file_claims_content on file_claims (project_key, sha256);

-- Objects that nothing refers to any more; the sweeper removes them from the store.
create table if not exists stored_removals (
  object   text primary key,
  progress jsonb,
  since    timestamptz not null default now()
);

-- Whether a share shows files and media; null: unless it is anonymous.
alter table shares add column if not exists files boolean;
