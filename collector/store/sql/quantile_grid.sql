-- Bins of one metric at one level as they are stored: sorted runs, which the reader puts in order.
select group_id, cast(epoch(ts) / $step_seconds as integer) as step, bin, cast(count as integer) as count
from stored.latency_bins
where step_seconds = $step_seconds and metric = $metric and ts >= $since and ts < $until
