-- What watched one model in each step: its requests, its good scrapes with their increments, requests of any model.
--
-- Sums stand for what was dropped; a step that is no multiple of theirs cannot be made of them.
with asked as (
    select ts, model, 1 as requests
    from requests
    where ts > $start and ts <= $until
    union all
    select ts, model, requests
    from demand
    where ts > $start and ts <= $until and $step_seconds % 300 = 0
),
arrived as (
    select
        cast(floor(epoch(ts) / $step_seconds) as bigint) as step,
        coalesce(sum(requests) filter (where model = $model), 0) as requests,
        sum(requests) as requests_of_any,
        min(epoch(ts)) filter (where model = $model) as first_second
    from asked
    group by all
),
sampled as (
    select
        ts, cast(scrape_state = 'ok' as integer) as scrapes, first_tokens, prompt_tokens, prefix_hit_tokens,
        generation_tokens, epoch(ts) - coalesce(interval_seconds, 0) as began
    from engine_samples
    where model = $model and ts > $start and ts <= $until
    union all
    select ts, scrapes, first_tokens, prompt_tokens, prefix_hit_tokens, generation_tokens, epoch(ts) as began
    from engine_demand
    where model = $model and ts > $start and ts <= $until and $step_seconds % 300 = 0
),
scraped as (
    select
        cast(floor(epoch(ts) / $step_seconds) as bigint) as step,
        sum(scrapes) as scrapes,
        sum(first_tokens) as first_tokens,
        sum(prompt_tokens) as prompt_tokens,
        sum(prefix_hit_tokens) as prefix_hit_tokens,
        sum(generation_tokens) as generation_tokens,
        min(began) as first_second
    from sampled
    group by all
)
select
    coalesce(arrived.step, scraped.step) as step,
    cast(coalesce(arrived.requests, 0) as bigint) as requests,
    cast(coalesce(arrived.requests_of_any, 0) as bigint) as requests_of_any,
    cast(coalesce(scraped.scrapes, 0) as bigint) as scrapes,
    scraped.first_tokens,
    scraped.prompt_tokens,
    scraped.prefix_hit_tokens,
    scraped.generation_tokens,
    least(arrived.first_second, scraped.first_second) as first_second
from arrived full join scraped on arrived.step = scraped.step
order by step
