-- Adds up the signed counts of periods that have closed, in the order in which they are read.
create or replace temp table merged_latency as
select step_seconds, metric, ts, key, cast(sum(count) as integer) as count
from stored.latency_bins
where ts >= $reopened and ts < $closed
group by all
having sum(count) <> 0
order by step_seconds, metric, key
