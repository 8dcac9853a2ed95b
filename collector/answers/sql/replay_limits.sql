-- Seats and KV tokens of one model's instances as their engines tell them, the newest life first.
select instance, max_running, kv_capacity_tokens, block_tokens, gpu_count
from instances
where model = $model and started_at <= $now
order by started_at desc, instance
