-- The newest scrape, and the figures of the newest good one, of every instance and model since $since.
select
    instance,
    model,
    arg_max(coalesce(role, 'both'), ts) as role,
    arg_max(region, ts) as region,
    arg_max(pool, ts) as pool,
    max(ts) as newest,
    arg_max(scrape_state, ts) as newest_state,
    max(ts) filter (where scrape_state = 'ok') as newest_good,
    min(ts) filter (where scrape_state = 'ok') as first_good,
    median(interval_seconds) filter (where scrape_state = 'ok') as interval_seconds,
    arg_max(queue_depth, ts) filter (where scrape_state = 'ok') as queue_depth,
    arg_max(running, ts) filter (where scrape_state = 'ok') as running,
    arg_max(kv_usage_ratio, ts) filter (where scrape_state = 'ok') as kv_usage_ratio
from engine_samples
where ts > $since and ts <= $now and model is not null
group by instance, model
order by model, instance
