-- Steps have 64 bits (docs/decisions/0031-steps-of-two-columns.md). The large tables get the high part as a column of its
-- own, 0 in every row that is there: no row is written. `epoch` becomes the low part.
alter table epochs add column if not exists epoch_high integer not null default 0;
alter table metric_chunks add column if not exists first_high integer not null default 0;
alter table metric_chunks add column if not exists last_high integer not null default 0;
-- In place of max_epoch, last_epoch and packed_to, which hold what was written before.
alter table job_progress add column if not exists max_step bigint;
alter table job_progress add column if not exists last_step bigint[];
alter table job_progress add column if not exists packed_step bigint;
