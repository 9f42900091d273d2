-- Servers of earlier releases may run on it.
-- What people say about a batch or a report, in Markdown (docs/comments.md).
create table if not exists comments (
  id          bigint generated always as identity primary key,
  project_key integer not null references projects (key) on delete cascade,
  batch_key   bigint references batches (key) on delete cascade,
  report_id   uuid references reports (id) on delete cascade,
  user_id     uuid not null references users (id) on delete cascade,
  -- Empty once it is deleted.
  body        text not null,
  -- Whom it mentions, as its author named them.
  mentions    uuid[] not null default '{}',
  created_at  timestamptz not null,
  edited_at   timestamptz,
  deleted_at  timestamptz,
  check (num_nonnulls(batch_key, report_id) = 1)
);
create index if not exists comments_batch on comments (batch_key, id desc) where batch_key is not null;
create index if not exists comments_report on comments (report_id, id desc) where report_id is not null;
create index if not exists comments_user on comments (user_id, created_at desc);
create index if not exists comments_deleted on comments (deleted_at) where deleted_at is not null;
