-- What users keep under a name: filters, columns, charts and colors of a page, as its URL says them.
create table if not exists saved_views (
  id          uuid primary key default gen_random_uuid(),
  user_id     uuid not null references users (id) on delete cascade,
  project_key integer references projects (key) on delete cascade,
  title       text not null,
  path        text not null,
  audience    text not null default 'private' check (audience in ('private', 'project', 'default')),
  colors      jsonb not null default '{}',
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now(),
  check (audience = 'private' or project_key is not null)
);
-- Saving under a title that its user has in the same project replaces that view.
create unique index if not exists saved_views_title on saved_views (user_id, coalesce(project_key, 0), title);
create unique index if not exists saved_views_default on saved_views (project_key) where audience = 'default';
create index if not exists saved_views_project on saved_views (project_key) where audience <> 'private';
