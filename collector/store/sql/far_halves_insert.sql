-- Notes halves that are far from what they belong to, with the time from the first to the last of them.
insert into stored.far_halves by name
select
    sequence, nullif(key, 0) as key, part, nullif(match, 0) as match, nullif(trace, 0) as trace,
    nullif(alias, 0) as alias, low_ns, high_ns
from incoming_far
