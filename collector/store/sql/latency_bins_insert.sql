-- Adds signed counts of all levels, in the order of their keys.
insert into stored.latency_bins by name
select step_seconds, metric, ts, key, count
from incoming_counts
