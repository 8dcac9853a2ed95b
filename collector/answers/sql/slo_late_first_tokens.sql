-- First tokens later than a limit by model and hour: as pages count them (undecided ones count as late), as recorded.
with scraped as (
    select
        model, date_trunc('hour', ts - interval 1 microsecond) as hour,
        coalesce(sum(count) filter (where edge_hi is null or edge_hi > $threshold * (1 + 1e-12)), 0) as late
    from engine_bins
    where metric = 'ttft_seconds'
        and ts >= cast($since as timestamptz) and ts < cast($until as timestamptz)
        and (cast($model as varchar[]) is null or list_contains(cast($model as varchar[]), model))
    group by all
),
recorded as (
    select
        model,
        date_trunc('hour', coalesce(
            first_token_at, ts + to_microseconds(cast(round(ttft_seconds * 1e6) as bigint)), ts
        )) as hour,
        count(*) as late
    from requests
    where source != 'gateway'
        and coalesce(engine_ttft_seconds, ttft_seconds) > $threshold
        and ts >= cast($since as timestamptz) - interval 1 day and ts < cast($until as timestamptz)
    group by all
)
select scraped.model, scraped.hour, cast(scraped.late - coalesce(recorded.late, 0) as bigint) as surplus
from scraped
left join recorded on scraped.model is not distinct from recorded.model and scraped.hour = recorded.hour
