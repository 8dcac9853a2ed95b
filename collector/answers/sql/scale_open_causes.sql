-- The causes of incidents that are still open, or ended a moment ago, by model.
select distinct model, cause
from incidents
where model is not null and cause is not null and (ended_at is null or ended_at >= $since) and started_at is not null
