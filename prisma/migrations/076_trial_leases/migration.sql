-- Servers of earlier releases may run on it: they hand lost trials out later, and know no leases.
-- A worker that renews the lease of its trial has it for as long as it does; other trials are lost after a longer silence.
alter table sweep_trials
  add column if not exists lease_s integer,
  add column if not exists renewed_at timestamptz,
  -- Whether its worker gave it back, or was seen to die.
  add column if not exists released boolean not null default false,
  -- The end of its job when it was handed out again: an end that belongs to an earlier worker.
  add column if not exists prior_end timestamptz;
