-- Fills in what a later batch knows of a life that is already there; what is known stays.
update stored.instances as o
set
    pool = coalesce(o.pool, n.pool),
    model_version = coalesce(o.model_version, n.model_version),
    engine = coalesce(o.engine, n.engine),
    engine_version = coalesce(o.engine_version, n.engine_version),
    host = coalesce(o.host, n.host),
    region = coalesce(o.region, n.region),
    role = coalesce(o.role, n.role),
    gpu_type = coalesce(o.gpu_type, n.gpu_type),
    gpu_count = coalesce(o.gpu_count, n.gpu_count),
    kv_capacity_tokens = coalesce(o.kv_capacity_tokens, n.kv_capacity_tokens),
    block_tokens = coalesce(o.block_tokens, n.block_tokens),
    max_running = coalesce(o.max_running, n.max_running),
    ready_at = coalesce(o.ready_at, n.ready_at),
    draining_at = coalesce(o.draining_at, n.draining_at),
    -- A scrape names the engine: a life that is scraped again has not ended, whatever was thought.
    stopped_at = case when n.stopped_at is null and n.engine is not null then null else coalesce(n.stopped_at, o.stopped_at) end,
    config = coalesce(o.config, n.config)
from incoming_lives as n
where
    o.instance = n.instance
    and (n.model is null or o.model is not distinct from n.model)
    and (n.started_at is null or abs(epoch(o.started_at) - epoch(n.started_at)) < 2)
