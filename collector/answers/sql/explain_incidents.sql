-- Incidents that began since $low or go on, oldest first.
select
    incident,
    model,
    metric,
    started_at,
    ended_at
from incidents
where started_at >= $low or ended_at is null
order by started_at
