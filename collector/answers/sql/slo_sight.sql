-- Shows by model what can be seen of it: recorded and engine-counted requests, the last good scrape and request.
with timed as (
    select
        model, status,
        case source when 'gateway' then 2 when 'joined' then 2 when 'engine' then 0 else 1 end as source_rank,
        coalesce(finished_at, ts + to_microseconds(cast(round(e2e_seconds * 1e6) as bigint)), ts) as moment
    from requests
    where ts >= cast($since as timestamptz) - interval 1 day and ts < cast($until as timestamptz)
),
counted as (
    select
        model, date_trunc('hour', moment) as hour, source_rank,
        count(*) filter (where status = 'ok') as recorded,
        max(moment) as newest_request
    from timed
    where moment >= cast($since as timestamptz) and moment < cast($until as timestamptz)
    group by all
),
ranked as (
    select model, recorded, newest_request, source_rank, max(source_rank) over (partition by model, hour) as best_rank
    from counted
),
recorded as (
    select model, cast(sum(recorded) as bigint) as recorded, max(newest_request) as newest_request
    from ranked
    where source_rank = best_rank
    group by model
),
scraped as (
    select
        model,
        sum(finished) as finished,
        max(ts) filter (where scrape_state = 'ok') as newest_good_scrape,
        max(ts) as newest_scrape
    from engine_samples
    where ts >= cast($since as timestamptz) and ts < cast($until as timestamptz)
    group by model
)
select
    coalesce(recorded.model, scraped.model) as model,
    coalesce(recorded, 0) as recorded,
    finished,
    newest_request,
    newest_good_scrape,
    newest_scrape
from recorded
full outer join scraped on recorded.model = scraped.model
order by 1
