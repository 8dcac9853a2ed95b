-- First and last time of each table that planners read, within the window.
with sources as (
    select 'requests' as source, min(ts) as first, max(ts) as last from requests
    where ts between $since and $until and ($model::varchar is null or model = $model)
    union all
    select 'arrivals', min(ts), max(ts) from arrivals
    where ts between $since and $until and ($model::varchar is null or model = $model)
    union all
    select 'engine', min(ts), max(ts) from engine_samples
    where ts between $since and $until and ($model::varchar is null or model = $model)
    union all
    select 'signals', min(ts), max(ts) from signal_samples
    where ts between $since and $until and ($model::varchar is null or model is null or model = $model)
)
select source, first, last from sources where first is not null order by source
