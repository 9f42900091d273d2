-- What people mark jobs with, as batches. Most jobs have none, so the index is small.
-- Servers of earlier releases may run on it.
alter table jobs add column if not exists tags text[] not null default '{}';
create index if not exists jobs_by_tag on jobs using gin (filter_texts(tags)) where tags <> '{}';
