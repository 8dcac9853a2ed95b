-- Lives of the instances of a model that touched the time since $low.
select
    instance,
    pool,
    model_version,
    host,
    region,
    role,
    kv_capacity_tokens,
    max_running,
    started_at,
    ready_at,
    draining_at,
    stopped_at
from instances
where model = $model and started_at < $high and (stopped_at is null or stopped_at >= $low)
order by started_at
