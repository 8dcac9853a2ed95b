-- Names the gateway requests that halves newer than $after may change.
create or replace temp table touched_gateways as
with fresh as (
    select key, match, alias, trace_id
    from stored.halves
    where half_sequence > $after
),
claims as (
    select alias, any_value(key) as key
    from stored.halves
    where side = 'gateway' and alias is not null and start_ns between $low and $high
    group by alias
),
links as (
    select c.alias, coalesce(above.key, c.key) as key
    from claims as c
    left join claims as above on above.alias = c.key
)
select distinct coalesce(links.key, h.key) as gateway_key
from stored.halves as h
left join links on links.alias = h.key
where
    h.side = 'gateway'
    and h.start_ns between $low and $high
    and (
        h.half_sequence > $after
        or h.match in (select match from fresh where match is not null)
        or h.trace_id in (select trace_id from fresh where trace_id is not null)
        or ($retouch and coalesce(links.key, h.key) in (select gateway_key from stored.requests where model is null))
    )
union
select alias as gateway_key
from fresh
where alias is not null
