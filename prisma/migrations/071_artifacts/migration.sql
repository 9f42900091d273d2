-- Artifacts of a project (docs/files.md): named, with versions by the digest of their files, and aliases.
create table if not exists artifacts (
  key         bigint generated always as identity primary key,
  project_key integer not null references projects (key),
  name        text collate "C" not null,
  type        text not null,
  -- A number is given once, also after its version is deleted.
  next_number integer not null default 0,
  created_at  timestamptz not null default now(),
  unique (project_key, name)
);

create table if not exists artifact_versions (
  key            bigint generated always as identity primary key,
  artifact_key   bigint not null references artifacts (key),
  number         integer not null,
  digest         bytea not null,
  -- Files whose content is missing; 0: the version is ready.
  n_missing      integer not null,
  n_files        integer not null,
  size           bigint not null,
  metadata       jsonb not null default '{}',
  -- Aliases that point to it once it is ready.
  wanted_aliases text[] not null default '{}',
  batch_key      bigint references batches (key),
  job_id         text,
  created_by     uuid references users (id),
  created_at     timestamptz not null default now(),
  unique (artifact_key, number),
  unique (artifact_key, digest)
);
create index if not exists artifact_versions_batch on artifact_versions (batch_key);

create table if not exists artifact_files (
  version_key bigint not null references artifact_versions (key),
  path        text collate "C" not null,
  project_key integer not null references projects (key),
  sha256      bytea not null,
  size        bigint not null,
  media_type  text,
  -- Null until it arrives.
  content_key bigint references contents (key),
  primary key (version_key, path)
);
create index if not exists artifact_files_content on artifact_files (content_key);
create index if not exists artifact_files_missing on artifact_files (project_key, sha256) where content_key is null;

create table if not exists artifact_aliases (
  artifact_key bigint not null references artifacts (key),
  alias        text collate "C" not null,
  version_key  bigint not null references artifact_versions (key),
  primary key (artifact_key, alias)
);
create index if not exists artifact_aliases_version on artifact_aliases (version_key);

-- Every move of an alias; from and to are numbers of versions, null: none.
create table if not exists artifact_alias_moves (
  id           bigint generated always as identity primary key,
  artifact_key bigint not null references artifacts (key),
  alias        text not null,
  from_number  integer,
  to_number    integer,
  moved_by     uuid references users (id),
  comment      text,
  at           timestamptz not null default now()
);
create index if not exists artifact_alias_moves_artifact on artifact_alias_moves (artifact_key, id);

create table if not exists artifact_uses (
  version_key bigint not null references artifact_versions (key),
  batch_key   bigint not null references batches (key),
  job_id      text not null default '',
  at          timestamptz not null default now(),
  primary key (version_key, batch_key, job_id)
);
create index if not exists artifact_uses_batch on artifact_uses (batch_key);
