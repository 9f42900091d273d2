-- The starts of a batch: one entry each time its script begins, and one for each update of its configuration. Its ends are
-- in events_ends (007).
create index concurrently if not exists events_batch_starts on events (batch_key, ts) where type = 0;
