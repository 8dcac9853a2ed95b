-- Sums over engine scrapes by block of time and role; "busy" are scrapes with requests waiting.
with lives as (
    select instance, max_by(gpu_count, started_at) as gpu_count from instances group by instance
),
scrapes as (
    select
        least(cast(floor((epoch(ts) - epoch($since::timestamptz)) / $block_seconds) as int), $blocks - 1) as block,
        coalesce(s.role, 'both') as role,
        s.instance, gpu_count, interval_seconds, queue_depth, running, prompt_tokens, generation_tokens,
        prefix_query_tokens, prefix_hit_tokens, steps, step_tokens, step_seconds, finished, spec_drafts,
        spec_draft_tokens, spec_accepted_tokens, grammar_seconds, coalesce(queue_depth > 0, false) as busy
    from engine_samples s
    left join lives using (instance)
    where ts between $since and $until and ($model::varchar is null or model = $model)
      and scrape_state = 'ok' and interval_seconds > 0
)
select
    block,
    role,
    sum(interval_seconds) filter (where busy) as busy_seconds,
    sum(interval_seconds * gpu_count) filter (where busy) as busy_gpu_seconds,
    sum(prompt_tokens - coalesce(prefix_hit_tokens, 0)) filter (where busy and gpu_count is not null)
        as busy_computed_tokens,
    sum(generation_tokens) filter (where busy and gpu_count is not null) as busy_generation_tokens,
    sum(finished) filter (where busy) as busy_finished,
    sum(prefix_query_tokens) as prefix_query_tokens,
    sum(prefix_hit_tokens) as prefix_hit_tokens,
    sum(steps) as steps,
    sum(step_tokens) as step_tokens,
    sum(step_seconds) as step_seconds,
    sum(running * steps) as running_steps,
    sum((running + coalesce(queue_depth, 0)) * interval_seconds) as request_seconds,
    sum(interval_seconds) as instance_seconds,
    count(distinct instance)::double as instances,
    sum(spec_drafts) as spec_drafts,
    sum(spec_draft_tokens) as spec_draft_tokens,
    sum(spec_accepted_tokens) as spec_accepted_tokens,
    sum(grammar_seconds) as grammar_seconds
from scrapes
group by block, role
order by block, role
