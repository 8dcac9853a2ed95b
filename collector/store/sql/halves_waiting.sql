-- Names the next halves that are not joined yet.
select
    sequence, side, coalesce(key, 0) as key, part, coalesce(match, 0) as match, coalesce(trace, 0) as trace,
    coalesce(alias, 0) as alias, start_ns
from stored.halves
where sequence > $after and sequence < $before
order by sequence
limit $most
