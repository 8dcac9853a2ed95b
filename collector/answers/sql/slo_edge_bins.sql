-- Sums scraped observations by model and bucket, each with the edges of the instance that counted it.
select
    case when $by_model then model end as model,
    edge_lo,
    edge_hi,
    sum(count) as count
from engine_bins
where metric = $metric
    and ts > cast($since as timestamptz) and ts <= cast($until as timestamptz)
    and (cast($model as varchar[]) is null or list_contains(cast($model as varchar[]), model))
group by all
having sum(count) > 0
order by 1, 2, 3
