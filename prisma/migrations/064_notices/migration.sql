-- Servers of earlier releases may run on it.
-- What happened that concerns a person: the bell of the page (docs/comments.md).
create table if not exists notices (
  id          bigint generated always as identity primary key,
  user_id     uuid not null references users (id) on delete cascade,
  kind        text not null check (kind in ('mention', 'comment', 'rule')),
  project_key integer not null references projects (key) on delete cascade,
  batch_key   bigint references batches (key) on delete cascade,
  comment_id  bigint references comments (id) on delete cascade,
  firing_id   bigint references notification_firings (id) on delete cascade,
  created_at  timestamptz not null,
  read_at     timestamptz,
  check (num_nonnulls(comment_id, firing_id) = 1)
);
create index if not exists notices_user on notices (user_id, id desc);
create unique index if not exists notices_comment on notices (comment_id, user_id) where comment_id is not null;
create unique index if not exists notices_firing on notices (firing_id, user_id) where firing_id is not null;
create index if not exists notices_created on notices (created_at);

-- What a person does not want, such as {"comments": false}.
alter table users add column if not exists notice_choices jsonb not null default '{}';
