-- What each instance served in each window, how deep its queue was, and how full it was.
with samples as (
    select
        time_bucket(to_seconds($step_seconds), ts) as step,
        instance,
        model,
        arg_max(coalesce(role, 'both'), ts) as role,
        arg_max(region, ts) as region,
        arg_max(pool, ts) as pool,
        arg_max(coalesce(model_version, engine_version), ts) as version,
        sum(first_tokens) as first_tokens,
        sum(interval_seconds) as seconds,
        sum(prompt_tokens) - coalesce(sum(prefix_hit_tokens), 0) as computed_tokens,
        sum(generation_tokens) as generation_tokens,
        min(queue_depth) as queue_min,
        avg(running) as running,
        max(kv_usage_ratio) as kv_usage_ratio,
        sum(preemptions) as preemptions
    from engine_samples
    where ts > $since and ts <= $now and scrape_state = 'ok' and model is not null
    group by 1, instance, model
),
served as (
    select
        time_bucket(to_seconds($step_seconds), first_token_at) as step,
        instance,
        model,
        count(*) as judged,
        count(*) filter (where ttft_seconds <= $objective_seconds) as good
    from requests
    where first_token_at > $since and first_token_at <= $now and ttft_seconds is not null and instance is not null
    group by 1, instance, model
)
select
    samples.step,
    samples.instance,
    samples.model,
    samples.role,
    samples.region,
    samples.pool,
    samples.version,
    samples.first_tokens,
    samples.seconds,
    samples.computed_tokens,
    samples.generation_tokens,
    samples.queue_min,
    samples.running,
    samples.kv_usage_ratio,
    samples.preemptions,
    served.judged,
    served.good
from samples
left join served
    on served.step = samples.step and served.instance = samples.instance and served.model = samples.model
where samples.seconds > 0
order by samples.model, samples.role, samples.region, samples.pool, samples.step, samples.instance
