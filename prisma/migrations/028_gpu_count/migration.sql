-- How many GPUs the process of a job saw when the job started; null: its reporter did not say.
alter table jobs add column if not exists gpu_count integer;
