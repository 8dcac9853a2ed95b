-- The models that have requests or arrivals in a span of time, the busiest first.
select model, cast(sum(requests) as bigint) as requests
from (
    select model, count(*) as requests from requests where ts > $since and ts <= $now group by model
    union all
    select model, count(*) as requests from arrivals where ts > $since and ts <= $now group by model
)
where model is not null
group by model
order by requests desc, model
