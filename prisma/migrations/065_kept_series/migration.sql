-- Where the archive was whose batch kept its series in the tables: the same as `location` since that batch became cold.
-- Servers before this migration drop the series too and do not set it, so it is compared and not only looked at.
alter table cold_batches add column if not exists series_location text;
