-- What rules fired goes after its time (src/domain/retention/leftovers.ts); the sweeper finds it by when it fired.
create index if not exists notification_firings_fired on notification_firings (fired_at);
