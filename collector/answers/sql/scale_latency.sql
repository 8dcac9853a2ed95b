-- TTFT P90 of the last minutes and of the ones before, and the mean latency of what finished lately, by model and region.
select
    model,
    region,
    quantile_disc(ttft_seconds, 0.9) filter (where first_token_at > $recent) as ttft_seconds,
    quantile_disc(ttft_seconds, 0.9) filter (where first_token_at <= $recent) as ttft_before_seconds,
    avg(engine_e2e_seconds) filter (where finished_at > $recent) as latency_seconds
from requests
where (first_token_at > $since or finished_at > $since) and ts <= $now
    and coalesce(first_token_at, finished_at) <= $now
group by model, region
order by model, region
