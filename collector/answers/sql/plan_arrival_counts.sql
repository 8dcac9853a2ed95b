-- Arrivals in each five minutes, from requests, or from arrivals where no request is stored.
with demand as (
    select ts from requests
    where ts between $since and $until and ($model::varchar is null or model = $model)
    union all
    select ts from arrivals
    where ts between $since and $until and ($model::varchar is null or model = $model)
      and not exists (
          select 1 from requests where ts between $since and $until and ($model::varchar is null or model = $model)
      )
)
select cast(floor(epoch(ts) / 300) as bigint) as five_minutes, count(*)::double as arrivals
from demand
group by five_minutes
order by five_minutes
