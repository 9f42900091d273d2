-- What a project's name looks like, without case: names of new projects must differ in it (src/domain/projects/name.ts).
-- Null for projects that stood before and look like an older one.
alter table projects add column if not exists name_key text;
create unique index if not exists projects_name_key on projects (name_key);
-- Open links are counted by who made them.
create index if not exists shares_creator on shares (created_by) where revoked_at is null;
