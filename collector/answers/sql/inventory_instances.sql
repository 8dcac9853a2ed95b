-- Every instance with its last scrape.
select
    s.instance,
    any_value(s.model) filter (where s.model is not null) as model,
    any_value(s.engine) as engine,
    any_value(s.engine_version) as engine_version,
    any_value(s.role) as role,
    any_value(s.pool) as pool,
    any_value(s.region) as region,
    max(s.ts) as last_scrape,
    epoch(cast($now as timestamptz)) - epoch(max(s.ts)) as seconds_ago,
    max_by(s.scrape_state, s.ts) as scrape_state,
    max_by(s.queue_depth, s.ts) as queue_depth,
    max_by(s.running, s.ts) as running,
    max_by(s.kv_usage_ratio, s.ts) as kv_usage_ratio
from engine_samples as s
where s.ts > cast($now as timestamptz) - interval 1 day
group by s.instance
order by s.instance
