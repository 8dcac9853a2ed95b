-- Adds the signed counts to all three levels of the latency bins, in the order of their keys.
insert into stored.latency_bins by name
with minutes as materialized (
    select metric, second // 60 as step, cell, sum(sign) as count
    from counted_values
    group by all
),
fives as materialized (
    select metric, step // 5 as step, cell, sum(count) as count
    from minutes
    group by all
),
hours as (
    select metric, step // 12 as step, cell, sum(count) as count
    from fives
    group by all
),
levels as (
    select 60 as step_seconds, metric, step, cell, count
    from minutes
    union all
    select 300, metric, step, cell, count
    from fives
    union all
    select 3600, metric, step, cell, count
    from hours
)
select step_seconds, metric, to_timestamp(step * step_seconds) as ts, cell + (step << 13) as key, count
from levels
where count <> 0
order by step_seconds, metric, key
