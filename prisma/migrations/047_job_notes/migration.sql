-- What people write about a job, in Markdown.
alter table jobs add column if not exists notes text not null default '';
