-- Whether a server's writers announce what they append to the change log (src/stream/announcements.ts). Servers of
-- releases before this one do not say so; while one is up, the others append one at a time, as it does.
alter table servers add column if not exists announces boolean not null default false;
create index if not exists servers_of_earlier_releases on servers (number) where not announces;
