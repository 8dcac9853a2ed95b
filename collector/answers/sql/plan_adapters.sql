-- Requests by adapter, most used first.
select adapter, count(*)::double as requests
from requests
where ts between $since and $until and ($model::varchar is null or model = $model) and adapter is not null
group by adapter
order by requests desc, adapter
limit 100000
