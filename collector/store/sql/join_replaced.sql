-- Returns the request rows that new ones replace, as their latencies were counted.
select
    model, model_version, tenant, length_bucket, region, adapter, instance, ts, first_token_at, finished_at,
    ttft_seconds, tpot_seconds, e2e_seconds, queue_seconds, prefill_seconds,
    gateway_key, source
from stored.requests
where
    ts between make_timestamptz($low // 1000) and make_timestamptz($high // 1000)
    and (
        gateway_key in (select value from replaced_keys)
        or engine_part in (select value from replaced_parts)
    )
