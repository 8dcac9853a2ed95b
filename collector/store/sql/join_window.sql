-- The time span and the newest number of the halves that are not joined yet.
select min(start_ns) as low, max(start_ns) as high, max(half_sequence) as newest
from store.halves
where half_sequence > $after
