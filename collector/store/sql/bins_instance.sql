-- Adds the signed counts to the bins by instance.
insert into stored.instance_bins by name
with minutes as (
    select metric, second // 60 as step, place, cell & 8191 as bin, sum(sign) as count
    from counted_values
    where place is not null
    group by all
    having sum(sign) <> 0
)
select
    60 as step_seconds,
    to_timestamp(m.step * 60) as ts,
    p.model,
    p.instance,
    m.metric,
    cast(m.bin - 2000 as smallint) as bin,
    m.count
from minutes as m
join counted_places as p on p.place = m.place
