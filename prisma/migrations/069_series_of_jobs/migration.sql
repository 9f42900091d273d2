-- The last and the best values of a job's series as Prisma reads them: its lists hold neither null nor NaN.
create or replace view job_series as
select job_key, series, epochs, coalesce(max_step, max_epoch) as max_epoch,
  json_build_array(series, last_value) as last_values,
  json_build_array(series, min_value, max_value) as best_values
from job_progress;
