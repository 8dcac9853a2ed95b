-- Tokens that engines counted, and the share of scraped time in which they ran nothing, by model.
select
    model,
    sum(prompt_tokens) as prompt_tokens,
    sum(generation_tokens) as generation_tokens,
    sum(prefix_hit_tokens) as prefix_hit_tokens,
    sum(interval_seconds) filter (where running = 0 and queue_depth = 0) / sum(interval_seconds) as idle_ratio
from engine_samples
where ts >= cast($since as timestamptz) and ts < cast($until as timestamptz)
    and scrape_state = 'ok' and model is not null
group by model
order by model
