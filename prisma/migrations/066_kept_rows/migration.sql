-- Where the archive was whose batch kept its series, log lines, starts and ends in the tables: the same as `location` since that
-- batch became cold. Servers before this migration delete more and do not set it, so it is compared and not only looked at.
alter table cold_batches add column if not exists kept_location text;
create index if not exists cold_batches_lacking on cold_batches (batch_key)
  where state = 'cold' and kept_location is distinct from location;
