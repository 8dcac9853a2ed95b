-- The stretch of every instance life within the window, with its GPUs as declared or, failing that, as sampled.
with lives as (
    select instance, model, pool, gpu_type, gpu_count, coalesce(role, 'both') as role, started_at, stopped_at
    from instances
    where model is not null and started_at < cast($until as timestamptz)
        and (stopped_at is null or stopped_at > cast($since as timestamptz))
),
seen as (
    select instance, model, coalesce(any_value(role), 'both') as role, any_value(pool) as pool,
        min(ts) as first_seen, max(ts) as last_seen
    from engine_samples
    where ts >= cast($since as timestamptz) and ts < cast($until as timestamptz) and model is not null
    group by instance, model
),
sampled as (
    select instance, count(distinct gpu) as gpus
    from gpu_samples
    where ts >= cast($since as timestamptz) and ts < cast($until as timestamptz) and instance is not null
    group by instance
),
known as (
    select
        instance, model, pool, gpu_type, cast(gpu_count as double) as gpu_count, role,
        greatest(started_at, cast($since as timestamptz)) as opens,
        least(coalesce(stopped_at, cast($until as timestamptz)), cast($until as timestamptz)) as closes
    from lives
    union all
    select
        instance, model, pool, null as gpu_type, null as gpu_count, role,
        first_seen as opens, last_seen as closes
    from seen
    anti join lives using (instance)
)
select
    known.instance, model, pool, gpu_type, role, opens, closes,
    coalesce(gpu_count, cast(gpus as double)) as gpus
from known
left join sampled on known.instance = sampled.instance
order by model, known.instance, opens
