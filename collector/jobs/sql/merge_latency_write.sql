-- Puts the merged counts in their place.
insert into stored.latency_bins by name
select step_seconds, metric, ts, key, count
from merged_latency
order by step_seconds, metric, key
