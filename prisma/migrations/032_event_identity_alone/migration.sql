-- Since 031, (batch_key, event_id) is unique: the same event_id in two batches names two events.
alter table events drop constraint if exists events_event_id_key;
