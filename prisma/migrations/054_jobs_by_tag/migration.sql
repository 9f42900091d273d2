-- Most jobs have no tags, so the index is small.
create index concurrently if not exists jobs_by_tag on jobs using gin (filter_texts(tags)) where tags <> '{}';
