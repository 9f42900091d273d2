-- Rules of one person, who alone sees them and gets their messages, and times in which a rule sends none
-- (docs/notifications.md).
alter table notification_rules
  add column if not exists person_id uuid references users (id) on delete cascade,
  -- Fires for batches of the person alone.
  add column if not exists own_runs boolean not null default false,
  -- {"from", "to", "time_zone"}
  add column if not exists quiet jsonb;
create index if not exists notification_rules_person on notification_rules (person_id) where person_id is not null;
