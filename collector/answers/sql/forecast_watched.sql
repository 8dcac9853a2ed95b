-- What watched one model in each step: its requests, its good scrapes with their increments, requests of any model.
with arrived as (
    select
        cast(floor(epoch(ts) / $step_seconds) as bigint) as step,
        count(*) filter (where model = $model) as requests,
        count(*) as requests_of_any,
        min(epoch(ts)) filter (where model = $model) as first_second
    from requests
    where ts > $start and ts <= $until
    group by all
),
scraped as (
    select
        cast(floor(epoch(ts) / $step_seconds) as bigint) as step,
        count(*) filter (where scrape_state = 'ok') as scrapes,
        sum(first_tokens) as first_tokens,
        sum(prompt_tokens) as prompt_tokens,
        sum(prefix_hit_tokens) as prefix_hit_tokens,
        sum(generation_tokens) as generation_tokens,
        min(epoch(ts) - coalesce(interval_seconds, 0)) as first_second
    from engine_samples
    where model = $model and ts > $start and ts <= $until
    group by all
)
select
    coalesce(arrived.step, scraped.step) as step,
    coalesce(arrived.requests, 0) as requests,
    coalesce(arrived.requests_of_any, 0) as requests_of_any,
    coalesce(scraped.scrapes, 0) as scrapes,
    scraped.first_tokens,
    scraped.prompt_tokens,
    scraped.prefix_hit_tokens,
    scraped.generation_tokens,
    least(arrived.first_second, scraped.first_second) as first_second
from arrived full join scraped on arrived.step = scraped.step
order by step
