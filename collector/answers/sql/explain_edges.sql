-- Observations of a scraped latency histogram by time step, instance and upper edge; the open bin has no edge.
select
    epoch_us(ts) // ($step * 1000000) as step,
    instance,
    edge_lo,
    edge_hi,
    sum(count)::bigint as count
from engine_bins
where model = $model and metric = $histogram and ts >= $low and ts < $high
group by all
