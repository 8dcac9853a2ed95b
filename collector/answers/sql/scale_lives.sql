-- Every life of an instance that was alive or started since $since.
select instance, pool, model, role, region, max_running, started_at, ready_at, draining_at, stopped_at
from instances
where model is not null and started_at <= $now and (stopped_at is null or stopped_at > $since)
order by model, instance, started_at
