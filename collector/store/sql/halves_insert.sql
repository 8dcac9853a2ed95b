-- Adds request halves to the index.
insert into stored.halves by name
select
    sequence, side, nullif(key, 0) as key, part, nullif(match, 0) as match, nullif(trace, 0) as trace,
    nullif(alias, 0) as alias, start_ns
from incoming_halves
