-- Returns the imported requests as their latencies are counted.
select
    model, model_version, tenant, length_bucket, region, adapter, instance, ts, first_token_at, finished_at,
    cast(ttft_seconds as double) as ttft_seconds, cast(tpot_seconds as double) as tpot_seconds,
    cast(e2e_seconds as double) as e2e_seconds, cast(queue_seconds as double) as queue_seconds,
    cast(prefill_seconds as double) as prefill_seconds
from imported_requests
