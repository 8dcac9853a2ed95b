-- Adds up the signed counts by instance of periods that have closed.
create or replace temp table merged_instance as
select step_seconds, ts, model, instance, metric, bin, cast(sum(count) as bigint) as count
from stored.instance_bins
where ts >= $reopened and ts < $closed
group by all
having sum(count) <> 0
