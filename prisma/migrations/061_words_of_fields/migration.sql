-- Servers of earlier releases may run on it.
-- Texts of parameters are compared without case.
create index concurrently if not exists batch_fields_words on batch_fields (field, filter_text(word)) include (batch_key) where rank = 1;
