-- The batch of the rows that were there before 034, in steps of a transaction each (src/db/migrate.ts). It may be
-- interrupted at any step, and then passes over what is filled. A row whose job is gone belongs to no batch: 0.
do $$
declare
  total bigint;
  done bigint := 0;
  of record;
  upto record;
begin
  select greatest(sum(reltuples), 0) into total from pg_class where oid in ('epochs'::regclass, 'metric_chunks'::regclass);
  select -1::bigint job_key, 0 epoch into of;
  loop
    select job_key, epoch, n into upto from (
      select job_key, epoch, row_number() over (order by job_key, epoch) n from (
        select job_key, epoch from epochs where (job_key, epoch) > (of.job_key, of.epoch)
        order by job_key, epoch limit 10000) step) step
      order by n desc limit 1;
    exit when not found;
    update epochs e set batch_key = coalesce((select p.batch_key from job_progress p where p.job_key = e.job_key), 0)
      where e.batch_key is null and (e.job_key, e.epoch) > (of.job_key, of.epoch)
        and (e.job_key, e.epoch) <= (upto.job_key, upto.epoch);
    done := done + upto.n;
    of := upto;
    perform set_config('application_name', format('svc migration: %s of about %s rows', done, greatest(total, done)), false);
    commit;
  end loop;

  select -1::bigint job_key, 0 series_no, 0 first_epoch into of;
  loop
    select job_key, series_no, first_epoch, n into upto from (
      select job_key, series_no, first_epoch, row_number() over (order by job_key, series_no, first_epoch) n from (
        select job_key, series_no, first_epoch from metric_chunks
        where (job_key, series_no, first_epoch) > (of.job_key, of.series_no, of.first_epoch)
        order by job_key, series_no, first_epoch limit 500) step) step
      order by n desc limit 1;
    exit when not found;
    update metric_chunks c set batch_key = coalesce((select p.batch_key from job_progress p where p.job_key = c.job_key), 0)
      where c.batch_key is null and (c.job_key, c.series_no, c.first_epoch) > (of.job_key, of.series_no, of.first_epoch)
        and (c.job_key, c.series_no, c.first_epoch) <= (upto.job_key, upto.series_no, upto.first_epoch);
    done := done + upto.n;
    of := upto;
    perform set_config('application_name', format('svc migration: %s of about %s rows', done, greatest(total, done)), false);
    commit;
  end loop;
end $$;
