-- Arrivals per second by pool and step: first tokens and rejections of each instance plus the growth of its queue.
with readings as (
    select
        time_bucket(to_seconds($step_seconds), ts) as step,
        instance,
        model,
        coalesce(role, 'both') as role,
        region,
        pool,
        interval_seconds,
        first_tokens,
        coalesce(rejected, 0) as rejected,
        coalesce(queue_depth - lag(queue_depth) over (partition by instance, model order by ts), 0) as queue_growth
    from engine_samples
    where ts > $since and ts <= $now and scrape_state = 'ok' and model is not null
),
by_instance as (
    select
        step,
        instance,
        model,
        role,
        region,
        pool,
        sum(greatest(first_tokens + rejected + queue_growth, 0)) as arrivals,
        sum(interval_seconds) as seconds
    from readings
    where first_tokens is not null and interval_seconds > 0
    group by all
)
select model, role, region, pool, step, sum(arrivals / seconds) as rate, count(*) as instances
from by_instance
group by model, role, region, pool, step
order by model, role, region, pool, step
