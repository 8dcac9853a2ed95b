-- Remembers how far a job has come.
insert or replace into stored.progress values ($name, $value)
