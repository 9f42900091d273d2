-- What people mark jobs with, as batches.
-- Servers of earlier releases may run on it.
alter table jobs add column if not exists tags text[] not null default '{}';
