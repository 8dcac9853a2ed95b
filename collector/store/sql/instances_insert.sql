-- Adds the lives that are not yet known: another life begins two seconds apart at least.
insert into stored.instances by name
select
    n.instance, n.pool, n.model, n.model_version, n.engine, n.engine_version, n.host, n.region, n.role, n.gpu_type,
    n.gpu_count, n.kv_capacity_tokens, n.block_tokens, n.max_running, n.started_at, n.ready_at, n.draining_at,
    n.stopped_at, n.config
from incoming_lives as n
where not exists (
    select 1
    from stored.instances as o
    where
        o.instance = n.instance
        and (n.model is null or o.model is not distinct from n.model)
        and (n.started_at is null or abs(epoch(o.started_at) - epoch(n.started_at)) < 2)
)
