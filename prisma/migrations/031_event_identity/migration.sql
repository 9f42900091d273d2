-- An event is named by its batch and its event_id (docs/contract.md §1). One statement, so that it runs outside a
-- transaction and writers do not wait for it (src/db/migrate.ts); 032 then drops the index on event_id alone.
create unique index concurrently if not exists events_identity on events (batch_key, event_id);
