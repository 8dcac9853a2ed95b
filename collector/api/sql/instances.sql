-- Lives of instances, newest first.
select
    instance, pool, model, model_version, engine, engine_version, host, region, role, gpu_type, gpu_count,
    kv_capacity_tokens, block_tokens, max_running, started_at, ready_at, draining_at, stopped_at, config
from instances
where ($model is null or model = $model) and (not $running or stopped_at is null)
order by started_at desc, instance
