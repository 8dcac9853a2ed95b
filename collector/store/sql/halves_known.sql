-- Names the incoming parts that are stored already; a sender that retries sends the same part again.
select distinct o.part
from stored.halves as o
where
    o.start_ns between $low and $high
    and o.part in (select part from incoming_parts)
