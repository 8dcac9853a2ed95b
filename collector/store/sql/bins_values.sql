-- Spreads each request over its latency metrics: TTFT at its first token, everything else when it finished.
create or replace temp table counted_values as
with spread as (
    select sign, model, model_version, tenant, length_bucket, region, adapter, instance, first_token_at as ts,
        'ttft_seconds' as metric, ttft_seconds as seconds
    from counted_requests
    union all
    select sign, model, model_version, tenant, length_bucket, region, adapter, instance, coalesce(finished_at, ts),
        'tpot_seconds', tpot_seconds
    from counted_requests
    union all
    select sign, model, model_version, tenant, length_bucket, region, adapter, instance, coalesce(finished_at, ts),
        'e2e_seconds', e2e_seconds
    from counted_requests
    union all
    select sign, model, model_version, tenant, length_bucket, region, adapter, instance, coalesce(finished_at, ts),
        'queue_seconds', queue_seconds
    from counted_requests
    union all
    select sign, model, model_version, tenant, length_bucket, region, adapter, instance, coalesce(finished_at, ts),
        'prefill_seconds', prefill_seconds
    from counted_requests
)
select
    s.sign, s.model, s.instance, s.metric, cast(epoch_us(s.ts) // 1000000 as bigint) as second,
    (cast(g.group_id as bigint) << 39) + latency_bin(s.seconds) + 2000 as cell
from spread as s
join stored.latency_groups as g on
    g.model is not distinct from s.model
    and g.model_version is not distinct from s.model_version
    and g.tenant is not distinct from s.tenant
    and g.length_bucket is not distinct from s.length_bucket
    and g.region is not distinct from s.region
    and g.adapter is not distinct from s.adapter
where s.seconds is not null and s.seconds >= 0 and s.ts is not null
