-- Sums by five minutes what the engines counted in the scrapes that are about to be dropped.
insert into stored.engine_demand (
    ts, model, scrapes, first_tokens, prompt_tokens, prefix_hit_tokens, generation_tokens
)
select
    time_bucket(interval 5 minute, ts) as step, model,
    count(*) filter (where scrape_state = 'ok'),
    sum(first_tokens), sum(prompt_tokens), sum(prefix_hit_tokens), sum(generation_tokens)
from stored.engine_samples
where ts < $samples
group by step, model
order by model, step
