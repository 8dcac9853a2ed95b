-- Grades decisions whose horizon has passed: was there a queue that more instances would have served, or idle room?
update stored.recommendations as r
set grade = case
    when seen.queue is null then 'unknown'
    when r.proposed <= r.current and seen.queue > seen.running then 'too_few'
    when r.action = 'up' and seen.queue = 0 and seen.kv < 0.3 and seen.running < 1 then 'too_many'
    else 'right'
end
from (
    select
        d.pool, d.ts,
        avg(e.queue_depth) as queue, avg(e.running) as running, avg(e.kv_usage_ratio) as kv
    from stored.recommendations as d
    left join stored.engine_samples as e on
        e.model = d.model
        and (d.region is null or e.region is not distinct from d.region)
        and e.ts between d.valid_until and d.valid_until + interval 5 minute
    where
        d.grade is null
        and d.valid_until < cast($now as timestamptz) - interval 5 minute
        and d.ts > cast($now as timestamptz) - interval 1 day
    group by d.pool, d.ts
) as seen
where seen.pool = r.pool and seen.ts = r.ts and r.grade is null
