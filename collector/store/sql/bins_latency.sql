-- Adds the signed counts to all three levels of the latency bins, ordered by group.
insert into stored.latency_bins by name
select
    level.step_seconds,
    time_bucket(to_seconds(level.step_seconds), v.ts) as ts,
    v.group_id,
    v.metric,
    v.bin,
    sum(v.sign) as count
from counted_values as v
cross join (select unnest([60, 300, 3600]) as step_seconds) as level
group by all
having sum(v.sign) <> 0
order by 1, 4, 3, 2, 5
