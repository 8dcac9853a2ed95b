-- Gauges and increments of a model's instances by time step; areas = requests × seconds.
select
    epoch_us(ts) // ($step * 1000000) as step,
    instance,
    any_value(model_version) as model_version,
    any_value(region) as region,
    avg(queue_depth) as queue_depth,
    max(queue_depth) as queue_peak,
    arg_max(queue_depth, ts) as queue_last,
    max(queue_max) as queue_max,
    avg(running) as running,
    max(running) as running_peak,
    min(running) as running_low,
    avg(kv_usage_ratio) as kv_usage_ratio,
    avg(kv_usage_max_ratio) as kv_usage_max_ratio,
    min(coalesce(kv_usage_max_ratio, kv_usage_ratio)) as kv_low,
    max(coalesce(kv_usage_max_ratio, kv_usage_ratio)) as kv_peak,
    avg(adapters_running) as adapters_running,
    avg(adapters_waiting) as adapters_waiting,
    sum(prompt_tokens) as prompt_tokens,
    sum(generation_tokens) as generation_tokens,
    sum(prefix_query_tokens) as prefix_query_tokens,
    sum(prefix_hit_tokens) as prefix_hit_tokens,
    sum(external_hit_tokens) as external_hit_tokens,
    sum(preemptions) as preemptions,
    sum(steps) as steps,
    sum(step_tokens) as step_tokens,
    sum(step_seconds) as step_seconds,
    sum(first_tokens) as first_tokens,
    sum(finished) as finished,
    sum(rejected) as rejected,
    sum(queue_seconds_sum) as queue_seconds_sum,
    sum(prefill_seconds_sum) as prefill_seconds_sum,
    sum(queue_depth * interval_seconds) as queue_area,
    sum(running * interval_seconds) as running_area,
    sum(spec_drafts) as spec_drafts,
    sum(spec_draft_tokens) as spec_draft_tokens,
    sum(spec_accepted_tokens) as spec_accepted_tokens,
    sum(grammar_seconds) as grammar_seconds,
    sum(kv_transfer_bytes) as kv_transfer_bytes,
    sum(kv_transfer_seconds) as kv_transfer_seconds,
    avg(case when scrape_state = 'ok' then 0.0 else 1.0 end) as bad_scrapes,
    avg(
        case
            when coalesce(generation_tokens, steps) is null or running is null then null
            when running > 0 and coalesce(generation_tokens, 0) + coalesce(steps, 0) = 0 then 1.0
            else 0.0
        end
    ) as stalled
from engine_samples
where model = $model and ts >= $low and ts < $high
group by all
