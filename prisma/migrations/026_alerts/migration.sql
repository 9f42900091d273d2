-- Rules may watch for what a run itself calls out: the alert of a log line (docs/notifications.md).
alter table notification_rules drop constraint if exists notification_rules_trigger_check;
alter table notification_rules add constraint notification_rules_trigger_check check (trigger in
  ('batch_done', 'batch_failed', 'job_failed', 'batch_stalled', 'job_idle', 'agent_offline', 'metric', 'alert'));
