-- Adds the signed counts to all three levels of the latency bins, in the order of their keys.
insert into stored.latency_bins by name
select
    level.step_seconds,
    v.metric,
    to_timestamp(v.second // level.step_seconds * level.step_seconds) as ts,
    v.cell + (v.second // level.step_seconds << 13) as key,
    sum(v.sign) as count
from counted_values as v
cross join (select unnest([60, 300, 3600]) as step_seconds) as level
group by all
having sum(v.sign) <> 0
order by 1, 2, 4
