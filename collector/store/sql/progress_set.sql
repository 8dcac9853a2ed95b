-- Remembers how far a job has come.
insert or replace into store.progress values ($name, $value)
