-- Good scrapes of one model's instances in a span of time, in order, with what a calibration needs of them.
select
    ts,
    instance,
    interval_seconds,
    steps,
    prompt_tokens,
    generation_tokens,
    prefix_hit_tokens,
    running,
    queue_depth,
    kv_usage_ratio
from engine_samples
where model = $model and ts > $since and ts <= $now and scrape_state = 'ok'
order by instance, ts
