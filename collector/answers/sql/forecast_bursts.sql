-- How uneven arrivals of one model are within each step: mean and variance of counts in equal windows, idle ones too.
with counted as (
    select
        cast(floor(epoch(ts) / $step_seconds) as bigint) as step,
        cast(floor(epoch(ts) / $window_seconds) as bigint) as window_number,
        count(*) as arrivals
    from requests
    where model = $model and ($tenant is null or tenant = $tenant) and ts > $start and ts <= $until
    group by all
)
select
    step,
    sum(arrivals) as arrivals,
    sum(arrivals * arrivals) as squares
from counted
group by step
order by step
