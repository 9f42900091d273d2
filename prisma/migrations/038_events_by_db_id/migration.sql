-- Takes the place of the primary key, which 043 begins with the batch. db_ids are unique because one sequence gives them.
create index concurrently if not exists events_db_id on events (db_id);
