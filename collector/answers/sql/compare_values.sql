-- The values that one dimension had, most requests first.
select side, count(*) as requests
from (
    select
        case $by
            when 'model_version' then model_version
            when 'model' then model
            when 'instance' then instance
            when 'pool' then pool
            when 'region' then region
            when 'adapter' then adapter
            when 'tenant' then tenant
            when 'engine' then engine
            when 'domain' then domain
            when 'class' then class
        end as side
    from requests
    where ts >= cast($since as timestamptz) and ts < cast($until as timestamptz)
        and (cast($model as varchar) is null or model = cast($model as varchar))
)
where side is not null
group by side
order by requests desc, side
limit 1000
