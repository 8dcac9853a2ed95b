-- Requests by instance that served them.
select instance, count(*)::double as requests
from requests
where ts between $since and $until and ($model::varchar is null or model = $model) and instance is not null
group by instance
order by requests desc
