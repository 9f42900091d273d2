-- The processes that reported a batch (contract §10 "Receipt"): how many of its events came from each, and the counts
-- that each sent of what it produced. A row is written under the lock of its batch's progress row.
create table if not exists batch_senders (
  batch_key bigint not null references batches (key) on delete cascade,
  -- The last 12 digits of its event ids.
  sender    text not null,
  host      text,
  n_events  bigint not null default 0,
  -- The latest counts: those with the most events produced; null until it sends any.
  delivery  jsonb,
  primary key (batch_key, sender)
) with (fillfactor = 50);
