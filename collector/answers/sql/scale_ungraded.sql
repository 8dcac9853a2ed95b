-- Decisions without a grade whose horizon has passed by $now, with their documents.
select ts, pool, model, document
from recommendations
where grade is null and ts > $since and ts <= $now
    and ts + to_seconds(coalesce(json_extract(document, '$.forecast_horizon_seconds')::double, 180.0)) + interval 2 minutes
    <= $now
order by ts, pool
