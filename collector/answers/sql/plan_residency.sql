-- Requests by region and whether they may leave it, as gateways report them.
select
    attributes['region'] as region,
    coalesce(attributes['residency'], 'free') as residency,
    sum(value) as requests
from signal_samples
where signal = 'region_requests' and ts between $since and $until and attributes['region'] is not null
  and ($model::varchar is null or model is null or model = $model)
group by all
order by region, residency
