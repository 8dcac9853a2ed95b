-- The time span of the halves that are not joined yet, or whose request has no model yet, and the newest half.
select min(start_ns) as low, max(start_ns) as high, max(half_sequence) as newest
from (
    select start_ns, half_sequence
    from stored.halves
    where half_sequence > $after
    union all
    select cast(epoch_ns(ts) as bigint) as start_ns, $after as half_sequence
    from stored.requests
    where $retouch and model is null and (gateway_key is not null or engine_part is not null)
)
