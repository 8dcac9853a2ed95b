-- Lives of instances that overlap the window: role, place, size and how long they took to be ready.
select
    instance, role, region, host, gpu_count, kv_capacity_tokens, block_tokens,
    coalesce(stopped_at > $until, true) as alive,
    case when started_at >= $since then epoch(ready_at) - epoch(started_at) end as cold_start_seconds
from instances
where started_at <= $until and coalesce(stopped_at, $until) >= $since
  and ($model::varchar is null or model = $model)
order by instance
