-- Jobs by words of their failure (src/domain/lists/job-conditions.ts), where the server has trigrams (012_job_search).
do $$
begin
  if exists (select from pg_extension where extname = 'pg_trgm') then
    create index if not exists jobs_failure_text on jobs using gin (lower(failure_reason) gin_trgm_ops)
      where failure_reason is not null;
  end if;
end $$;
