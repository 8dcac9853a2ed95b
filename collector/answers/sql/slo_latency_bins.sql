-- Sums stored hourly latency bins of an objective's scope by its dimensions, where raw requests are gone.
select
    case when $by_model then model end as model,
    case when $by_tenant then tenant end as tenant,
    case when $by_length_bucket then length_bucket end as length_bucket,
    case when $by_model_version then model_version end as model_version,
    case when $by_region then region end as region,
    case when $by_adapter then adapter end as adapter,
    cast(bin as double) as cell,
    sum(count) as count
from latency_bins
where step_seconds = 3600 and metric = $metric
    and ts >= cast($since as timestamptz) and ts < cast($until as timestamptz)
    and (cast($model as varchar[]) is null or list_contains(cast($model as varchar[]), model))
    and (cast($tenant as varchar[]) is null or list_contains(cast($tenant as varchar[]), tenant))
    and (cast($length_bucket as varchar[]) is null or list_contains(cast($length_bucket as varchar[]), length_bucket))
    and (cast($model_version as varchar[]) is null or list_contains(cast($model_version as varchar[]), model_version))
    and (cast($region as varchar[]) is null or list_contains(cast($region as varchar[]), region))
    and (cast($adapter as varchar[]) is null or list_contains(cast($adapter as varchar[]), adapter))
group by all
having sum(count) > 0
