-- How many events of a batch are stored, to hold against what its reporter says it produced.
alter table batch_progress add column if not exists n_events bigint not null default 0;
