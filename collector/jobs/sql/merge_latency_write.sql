-- Puts the merged counts in their place.
insert into stored.latency_bins by name
select step_seconds, ts, group_id, metric, bin, count
from merged_latency
order by step_seconds, metric, group_id, ts, bin
