-- Lists the halves of the touched gateway requests, and whether a request has more than one.
create or replace temp table touched_parts as
with claims as (
    select alias, any_value(key) as key
    from stored.halves
    where side = 'gateway' and alias is not null and start_ns between $low and $high
    group by alias
),
links as (
    select c.alias, coalesce(above.key, c.key) as key
    from claims as c
    left join claims as above on above.alias = c.key
),
parts as (
    select h.half_sequence, coalesce(links.key, h.key) as gateway_key
    from stored.halves as h
    left join links on links.alias = h.key
    where h.side = 'gateway' and h.start_ns between $low and $high
)
select half_sequence, gateway_key, count(*) over (partition by gateway_key) > 1 as merged
from parts
where gateway_key in (select gateway_key from touched_gateways)
