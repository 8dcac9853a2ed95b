-- Requests by region and UTC hour of the day, with how many such hours were observed.
with hourly as (
    select
        coalesce(region, '') as region,
        date_trunc('hour', ts) as hour_start,
        count(*) as requests
    from requests
    where ts between $since and $until and ($model::varchar is null or model = $model)
    group by all
)
select
    region,
    extract('hour' from hour_start)::bigint as utc_hour,
    sum(requests)::double as requests,
    count(*)::double as hours
from hourly
group by all
order by region, utc_hour
