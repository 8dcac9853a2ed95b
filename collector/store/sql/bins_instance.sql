-- Adds the signed counts to the bins by instance.
insert into stored.instance_bins by name
select
    60 as step_seconds,
    to_timestamp(second // 60 * 60) as ts,
    model,
    instance,
    metric,
    cast((cell & 8191) - 2000 as smallint) as bin,
    sum(sign) as count
from counted_values
where instance is not null
group by all
having sum(sign) <> 0
