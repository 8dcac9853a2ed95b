-- Adds the signed counts to the bins by instance.
insert into stored.instance_bins by name
select
    60 as step_seconds,
    time_bucket(interval 1 minute, ts) as ts,
    model,
    instance,
    metric,
    bin,
    sum(sign) as count
from counted_values
where instance is not null
group by all
having sum(sign) <> 0
