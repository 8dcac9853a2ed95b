-- Returns the time before which a table was dropped last, in µs.
select value from stored.progress where name = $name
