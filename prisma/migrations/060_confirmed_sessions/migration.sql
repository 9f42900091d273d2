-- When the user of a session last proved who they are: at sign-in, or again before a change that needs it.
-- Servers of earlier releases may run on it.
alter table sessions add column if not exists confirmed_at timestamptz;
