-- Counts scraped observations within and above a limit, for model hours that have no recorded request.
--
-- What an edge leaves undecided is good, and counted apart: nobody is paged for what may well have been in time.
with recorded as (
    select distinct model, date_trunc('hour', coalesce(
        case when $by_first_token
            then coalesce(first_token_at, ts + to_microseconds(cast(round(ttft_seconds * 1e6) as bigint)))
        end,
        finished_at,
        ts + to_microseconds(cast(round(e2e_seconds * 1e6) as bigint)),
        ts
    )) as hour
    from requests
    where ts >= cast($since as timestamptz) - interval 1 day and ts < cast($until as timestamptz)
),
scraped as (
    select ts, model, edge_lo, edge_hi, count, date_trunc('hour', ts - interval 1 microsecond) as hour
    from engine_bins
    where metric = $metric
        and ts >= cast($since as timestamptz) and ts < cast($until as timestamptz)
        and (cast($model as varchar[]) is null or list_contains(cast($model as varchar[]), model))
)
select
    case when $by_minute then date_trunc('minute', scraped.ts - interval 1 microsecond) end as ts,
    len(list_filter(cast($starts as timestamptz[]), lambda opening: scraped.ts >= opening)) as ring,
    case when $by_model then scraped.model end as model,
    coalesce(sum(count) filter (where edge_lo < $threshold * (1 - 1e-12)), 0) as good,
    coalesce(sum(count) filter (where edge_lo >= $threshold * (1 - 1e-12)), 0) as bad,
    coalesce(sum(count) filter (
        where (edge_hi is null or edge_hi > $threshold * (1 + 1e-12)) and edge_lo < $threshold * (1 - 1e-12)
    ), 0) as straddling,
    max(scraped.ts) as newest
from scraped
anti join recorded on scraped.model is not distinct from recorded.model and scraped.hour = recorded.hour
group by all
order by 1, 2, 3
