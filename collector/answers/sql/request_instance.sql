-- What the request's instance looked like at the scrape nearest to its arrival.
select
    ts, instance, model, engine, scrape_state, queue_depth, running, kv_usage_ratio, kv_usage_max_ratio, preemptions,
    prompt_tokens, generation_tokens, interval_seconds
from engine_samples
where
    instance = $instance
    and ts between cast($at as timestamptz) - interval 2 minute and cast($at as timestamptz) + interval 2 minute
order by abs(epoch(ts) - epoch(cast($at as timestamptz)))
limit 1
