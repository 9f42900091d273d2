-- Reports: Markdown with runs, charts and tables embedded, one project's; and the public links that open them.
create table if not exists reports (
  id          uuid primary key default gen_random_uuid(),
  project_key integer not null references projects (key) on delete cascade,
  user_id     uuid not null references users (id) on delete cascade,
  title       text not null,
  body        text not null default '',
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now()
);
create index if not exists reports_project on reports (project_key, created_at desc, id desc);
create index if not exists reports_user on reports (user_id);

-- A link opens the report, and through a share of its own each batch that the report showed when the link was made.
create table if not exists report_links (
  id         uuid primary key default gen_random_uuid(),
  report_id  uuid not null references reports (id) on delete cascade,
  token_hash bytea not null unique,
  share_ids  uuid[] not null default '{}',
  created_by uuid not null references users (id) on delete cascade,
  created_at timestamptz not null default now()
);
create index if not exists report_links_report on report_links (report_id);
