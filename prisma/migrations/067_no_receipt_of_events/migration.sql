-- Nothing reads when an event was received: a batch has that of its last one (024). Eight bytes a row, and as many of WAL.
alter table events alter column received_at set default null;
