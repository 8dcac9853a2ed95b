-- Adds up the signed counts of periods that have closed, in the order in which they are read.
create or replace temp table merged_latency as
select step_seconds, ts, group_id, metric, bin, cast(sum(count) as bigint) as count
from stored.latency_bins
where ts >= $reopened and ts < $closed
group by all
having sum(count) <> 0
order by step_seconds, metric, group_id, ts, bin
