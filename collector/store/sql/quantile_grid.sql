-- Bins of one metric at one level, as sort keys (group, step, bin) with counts, in the order in which they are stored.
select key, count
from stored.latency_bins
where step_seconds = $step_seconds and metric = $metric and ts >= $since and ts < $until
