-- Engine state by step: gauges averaged per instance and then added or taken at their highest, increments added.
with sampled as (
    select
        time_bucket(to_seconds($step), ts) as ts,
        instance,
        avg(queue_depth) as queue_depth,
        avg(running) as running,
        avg(kv_usage_ratio) as kv_usage_ratio,
        max(kv_usage_max_ratio) as kv_usage_max_ratio,
        sum(preemptions) as preemptions,
        sum(prompt_tokens) as prompt_tokens,
        sum(generation_tokens) as generation_tokens,
        sum(prefix_hit_tokens) as prefix_hit_tokens,
        sum(prefix_query_tokens) as prefix_query_tokens,
        sum(spec_accepted_tokens) as spec_accepted_tokens,
        sum(spec_draft_tokens) as spec_draft_tokens,
        sum(first_tokens) as first_tokens,
        count(*) filter (where scrape_state = 'failed') as failed_scrapes,
        count(*) filter (where scrape_state = 'frozen') as frozen_scrapes
    from engine_samples
    where
        ts >= $start and ts < $end
        and model is not null
        and ($model is null or model = $model)
        and ($instance is null or instance = $instance)
    group by 1, 2
)
select
    ts,
    count(*) as instances,
    sum(queue_depth) as queue_depth,
    sum(running) as running,
    avg(kv_usage_ratio) as kv_usage_ratio,
    max(kv_usage_max_ratio) as kv_usage_max_ratio,
    sum(preemptions) as preemptions,
    sum(prompt_tokens) as prompt_tokens,
    sum(generation_tokens) as generation_tokens,
    sum(prefix_hit_tokens) / nullif(sum(prefix_query_tokens), 0) as prefix_hit_ratio,
    sum(spec_accepted_tokens) / nullif(sum(spec_draft_tokens), 0) as acceptance_ratio,
    sum(first_tokens) as first_tokens,
    sum(failed_scrapes) as failed_scrapes,
    sum(frozen_scrapes) as frozen_scrapes
from sampled
group by ts
order by ts
