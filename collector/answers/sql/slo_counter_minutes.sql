-- Counts by model and minute what engines' counters know of aborts and rejections, beside what requests record of them.
--
-- aborted = increments of the running maximum of first tokens - finished - running; exact at idle moments, else a bound.
-- Prefill instances finish nothing themselves, so nothing is concluded from them.
with summed as (
    select
        ts, instance, model, role, rejected,
        case when role is distinct from 'prefill'
            then sum(first_tokens) over life - sum(finished) over life - running
        end as gone
    from engine_samples
    where ts >= cast($since as timestamptz) - interval 6 hour and ts < cast($until as timestamptz)
        and (cast($model as varchar[]) is null or list_contains(cast($model as varchar[]), model))
    window life as (partition by instance, model, role order by ts rows between unbounded preceding and current row)
),
highest as (
    select
        ts, instance, model, role, rejected,
        greatest(0, coalesce(max(gone) over (
            partition by instance, model, role order by ts rows between unbounded preceding and current row
        ), 0)) as gone
    from summed
),
counters as (
    select
        ts, model, rejected,
        gone - lag(gone, 1, 0) over (partition by instance, model, role order by ts) as aborted
    from highest
),
known as (
    select
        date_trunc('minute', ts - interval 1 microsecond) as ts, model,
        sum(aborted) as aborted, coalesce(sum(rejected), 0) as rejected, 0 as recorded_aborted, 0 as recorded_rejected
    from counters
    where ts >= cast($since as timestamptz)
    group by all
    union all
    select
        date_trunc('minute', coalesce(finished_at, ts)) as ts, model,
        0 as aborted, 0 as rejected,
        count(*) filter (where status = 'aborted') as recorded_aborted,
        count(*) filter (where status = 'rejected') as recorded_rejected
    from requests
    where status in ('aborted', 'rejected')
        and ts >= cast($since as timestamptz) - interval 1 day
        and coalesce(finished_at, ts) >= cast($since as timestamptz)
        and coalesce(finished_at, ts) < cast($until as timestamptz)
        and (cast($model as varchar[]) is null or list_contains(cast($model as varchar[]), model))
    group by all
),
recorded_hours as (
    select distinct model, date_trunc('hour', coalesce(finished_at, ts)) as hour
    from requests
    where ts >= cast($since as timestamptz) - interval 1 day and ts < cast($until as timestamptz)
)
select
    known.ts, known.model, recorded_hours.hour is null as by_page,
    sum(aborted) as aborted, sum(rejected) as rejected,
    sum(recorded_aborted) as recorded_aborted, sum(recorded_rejected) as recorded_rejected
from known
left join recorded_hours
    on known.model is not distinct from recorded_hours.model and date_trunc('hour', known.ts) = recorded_hours.hour
group by all
having sum(aborted) > 0 or sum(rejected) > 0 or sum(recorded_aborted) > 0 or sum(recorded_rejected) > 0
order by known.model, known.ts
