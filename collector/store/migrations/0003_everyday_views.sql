-- Everyday views: the questions that people ask first, answered without arithmetic of their own.

create view ttft_p99 as
select
    time_bucket(interval 1 minute, first_token_at) as ts,
    model, tenant, length_bucket,
    quantile_disc(ttft_seconds, 0.99) as ttft_p99_seconds,
    quantile_disc(ttft_seconds, 0.5) as ttft_p50_seconds,
    count(*) as requests
from requests
where ttft_seconds is not null and first_token_at is not null
group by all;

create view goodput as
select
    time_bucket(interval 1 minute, coalesce(finished_at, ts)) as ts,
    model, tenant, length_bucket,
    count(*) filter (where status = 'ok' and ttft_seconds <= 2.0) as good,
    count(*) filter (where status not in ('client_error', 'rate_limited')) as total,
    count(*) filter (where status = 'ok' and ttft_seconds <= 2.0)
        / nullif(count(*) filter (where status not in ('client_error', 'rate_limited')), 0) as ratio
from requests
group by all;

create view cache_hit as
select
    time_bucket(interval 1 minute, ts) as ts,
    model, instance,
    sum(prefix_hit_tokens) as hit_tokens,
    sum(prefix_query_tokens) as query_tokens,
    sum(prefix_hit_tokens) / nullif(sum(prefix_query_tokens), 0) as hit_ratio
from engine_samples
where scrape_state = 'ok' and model is not null
group by all;

create view acceptance as
select
    time_bucket(interval 1 minute, ts) as ts,
    model, instance,
    sum(spec_accepted_tokens) / nullif(sum(spec_draft_tokens), 0) as acceptance_ratio,
    1 + sum(spec_accepted_tokens) / nullif(sum(spec_drafts), 0) as tokens_per_step,
    sum(spec_drafts) as drafts
from engine_samples
where scrape_state = 'ok' and model is not null
group by all;

create view aborted as
with flow as (
    select
        ts, instance, model, running + coalesce(queue_depth, 0) as unfinished,
        sum(coalesce(first_tokens, 0) - coalesce(finished, 0)) over life as left_over
    from engine_samples
    where scrape_state = 'ok' and model is not null and running is not null
    window life as (partition by instance, model order by ts rows unbounded preceding)
),
bound as (
    select
        ts, instance, model,
        greatest(0, max(left_over - unfinished) over life) as reached
    from flow
    window life as (partition by instance, model order by ts rows unbounded preceding)
)
select
    ts, instance, model,
    reached - coalesce(lag(reached) over (partition by instance, model order by ts), 0) as aborted,
    reached as aborted_so_far
from bound;

create view coverage as
with recorded as (
    select time_bucket(interval 1 minute, coalesce(finished_at, ts)) as ts, model, count(*) as recorded
    from requests
    where source in ('engine', 'joined', 'log', 'import')
    group by all
),
counted as (
    select time_bucket(interval 1 minute, ts) as ts, model, sum(finished) as counted
    from engine_samples
    where model is not null
    group by all
)
select
    coalesce(counted.ts, recorded.ts) as ts,
    coalesce(counted.model, recorded.model) as model,
    coalesce(recorded.recorded, 0) as recorded,
    counted.counted,
    recorded.recorded / nullif(counted.counted, 0) as coverage
from counted
full join recorded on recorded.ts = counted.ts and recorded.model is not distinct from counted.model;

create view data_quality as
select
    kind, source,
    min(ts) as first_at,
    max(ts) as last_at,
    sum(count) as count,
    arg_max(example, ts) as example
from stored.quality
group by kind, source;

create view token_reconciliation as
select
    time_bucket(interval 1 hour, ts) as ts,
    model, tenant,
    sum(input_tokens) as engine_input_tokens,
    sum(gateway_input_tokens) as gateway_input_tokens,
    sum(output_tokens) as engine_output_tokens,
    sum(gateway_output_tokens) as gateway_output_tokens,
    count(*) as requests
from requests
where source = 'joined'
group by all;

create view cost_per_mtoken as
with hours as (
    select
        time_bucket(interval 1 hour, s.ts) as ts,
        s.model, s.instance,
        any_value(s.pool) as pool,
        sum(s.interval_seconds) / 3600 as hours,
        sum(s.prompt_tokens) as prompt_tokens,
        sum(s.generation_tokens) as generation_tokens
    from engine_samples as s
    where s.model is not null and s.interval_seconds is not null
    group by 1, 2, 3
),
gpus as (
    select instance, max(gpu_count) as gpu_count, max(gpu_type) as gpu_type
    from instances
    group by instance
),
priced as (
    select
        h.ts, h.model, h.instance, h.hours, h.prompt_tokens, h.generation_tokens,
        coalesce(g.gpu_count, p.gpus_per_instance, 1) as gpus,
        p.usd_per_gpu_hour
    from hours as h
    left join gpus as g on g.instance = h.instance
    left join stored.prices as p on
        (p.pool is null or p.pool = h.pool or (h.pool is null and p.model = h.model))
        and (p.model is null or p.model = h.model)
        and (p.gpu_type is null or g.gpu_type is null or p.gpu_type = g.gpu_type)
        and (p.since is null or p.since <= h.ts)
    qualify row_number() over (
        partition by h.ts, h.model, h.instance order by p.since desc nulls last, p.pool nulls last
    ) = 1
)
select
    ts, model,
    sum(hours * gpus) as gpu_hours,
    sum(hours * gpus * usd_per_gpu_hour) as usd,
    sum(prompt_tokens) as prompt_tokens,
    sum(generation_tokens) as output_tokens,
    sum(hours * gpus * usd_per_gpu_hour) / nullif(sum(generation_tokens), 0) * 1e6 as usd_per_million_output_tokens,
    sum(hours * gpus * usd_per_gpu_hour) / nullif(sum(prompt_tokens + generation_tokens), 0) * 1e6
        as usd_per_million_tokens
from priced
group by ts, model;
