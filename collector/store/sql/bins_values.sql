-- Spreads each request over its latency metrics: TTFT at its first token, everything else when it finished.
create or replace temp table counted_values as
with numbered as materialized (
    select
        r.sign, p.place, cast(g.group_id as bigint) << 39 as cell,
        epoch_us(r.first_token_at) // 1000000 as first_second,
        epoch_us(coalesce(r.finished_at, r.ts)) // 1000000 as last_second, r.ttft_seconds, r.tpot_seconds,
        r.e2e_seconds, r.queue_seconds, r.prefill_seconds
    from counted_requests as r
    join stored.latency_groups as g on
        g.model is not distinct from r.model
        and g.model_version is not distinct from r.model_version
        and g.tenant is not distinct from r.tenant
        and g.length_bucket is not distinct from r.length_bucket
        and g.region is not distinct from r.region
        and g.adapter is not distinct from r.adapter
    left join counted_places as p on p.instance = r.instance and p.model is not distinct from r.model
),
spread as (
    select sign, place, cell, first_second as second, 'ttft_seconds' as metric, ttft_seconds as seconds
    from numbered
    where first_second is not null
    union all
    select sign, place, cell, last_second, 'tpot_seconds', tpot_seconds
    from numbered
    union all
    select sign, place, cell, last_second, 'e2e_seconds', e2e_seconds
    from numbered
    union all
    select sign, place, cell, last_second, 'queue_seconds', queue_seconds
    from numbered
    union all
    select sign, place, cell, last_second, 'prefill_seconds', prefill_seconds
    from numbered
)
select sign, place, metric, second, cell + latency_bin(seconds) + 2000 as cell
from spread
where seconds >= 0
