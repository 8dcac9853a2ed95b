-- Counts one latency of an objective's requests by exact value, or by logarithmic bin where $binned, and dimensions.
with timed as (
    select
        model, tenant, length_bucket, model_version, region, adapter, status,
        case $metric when 'ttft_seconds' then ttft_seconds when 'tpot_seconds' then tpot_seconds else e2e_seconds end as value,
        case source when 'gateway' then 2 when 'joined' then 2 when 'engine' then 0 else 1 end as source_rank,
        coalesce(
            case when $by_first_token
                then coalesce(first_token_at, ts + to_microseconds(cast(round(ttft_seconds * 1e6) as bigint)))
            end,
            finished_at,
            ts + to_microseconds(cast(round(e2e_seconds * 1e6) as bigint)),
            ts
        ) as moment
    from requests
    where ts >= cast($since as timestamptz) - interval 1 day and ts < cast($until as timestamptz)
        and (cast($model as varchar[]) is null or list_contains(cast($model as varchar[]), model))
),
counted as (
    select
        model as served_model,
        date_trunc('hour', moment) as hour,
        source_rank,
        case when $by_tenant then tenant end as tenant,
        case when $by_length_bucket then length_bucket end as length_bucket,
        case when $by_model_version then model_version end as model_version,
        case when $by_region then region end as region,
        case when $by_adapter then adapter end as adapter,
        case
            when status in ('client_error', 'rate_limited') then null
            when not coalesce((cast($tenant as varchar[]) is null or list_contains(cast($tenant as varchar[]), tenant))
                and (cast($length_bucket as varchar[]) is null or list_contains(cast($length_bucket as varchar[]), length_bucket))
                and (cast($model_version as varchar[]) is null or list_contains(cast($model_version as varchar[]), model_version))
                and (cast($region as varchar[]) is null or list_contains(cast($region as varchar[]), region))
                and (cast($adapter as varchar[]) is null or list_contains(cast($adapter as varchar[]), adapter)), false)
                then null
            when not $binned then value
            when value > 1e-9 then ceil(ln(value) / $ln_gamma)
            when value is not null then $zero_bin
        end as cell,
        count(*) as count
    from timed
    where moment >= cast($since as timestamptz) and moment < cast($until as timestamptz)
    group by all
),
ranked as (
    select
        served_model, tenant, length_bucket, model_version, region, adapter, cell, count, source_rank,
        max(source_rank) over (partition by served_model, hour) as best_rank
    from counted
)
select
    case when $by_model then served_model end as model,
    tenant, length_bucket, model_version, region, adapter, cell,
    cast(sum(count) as bigint) as count
from ranked
where source_rank = best_rank and cell is not null
group by all
