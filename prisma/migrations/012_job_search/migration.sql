-- Jobs by a part of their id, model or dataset, whatever the project (src/domain/jobs/search.ts); where the server has
-- trigrams, as for batches (004_reading). `batch_search_text` takes any texts.
do $$
begin
  if exists (select from pg_extension where extname = 'pg_trgm') then
    create index if not exists jobs_search on jobs using gin (batch_search_text(id, model, dataset, null, null) gin_trgm_ops);
  end if;
end $$;
