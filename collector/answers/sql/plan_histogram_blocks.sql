-- Observations of scraped histograms by block of time, with the least and most that they can add up to.
select
    least(cast(floor((epoch(ts) - epoch($since::timestamptz)) / $block_seconds) as int), $blocks - 1) as block,
    metric as kind,
    sum(count)::double as observations,
    sum(count * edge_lo) as least_sum,
    sum(count * coalesce(edge_hi, edge_lo)) as most_sum
from engine_bins
where ts between $since and $until and ($model::varchar is null or model is null or model = $model)
  and metric in ('gateway_router_seconds', 'rollout_scoring_seconds', 'train_step_seconds')
group by block, metric
order by kind, block
