-- The batches whose fields are not stored (052): those that run, and few others.
create index concurrently if not exists batch_progress_unknown_fields on batch_progress (batch_key) where not fields_known;
