-- By minute and model: first tokens per second over all instances, and the share of judged requests within $objective_seconds.
with served as (
    select time_bucket(interval 1 minute, ts) as minute, model, sum(first_tokens) / 60.0 as rate
    from engine_samples
    where ts > $since and ts <= $now and scrape_state = 'ok'
    group by all
),
judged as (
    select
        time_bucket(interval 1 minute, first_token_at) as minute,
        model,
        count(*) as judged,
        count(*) filter (where ttft_seconds <= $objective_seconds) as good
    from requests
    where first_token_at > $since and first_token_at <= $now and ttft_seconds is not null
    group by all
)
select served.minute, served.model, served.rate, judged.judged, judged.good
from served
left join judged on judged.minute = served.minute and judged.model is not distinct from served.model
order by served.model, served.minute
