-- Bins of one metric at one level as sort keys (group, step, bin) with counts, as they are stored: sorted runs.
select
    (cast(group_id as bigint) << $cell_bits)
    + (cast(epoch(ts) as bigint) // $step_seconds << $bin_bits)
    + (bin - $zero_bin) as key,
    cast(count as integer) as count
from stored.latency_bins
where step_seconds = $step_seconds and metric = $metric and ts >= $since and ts < $until
