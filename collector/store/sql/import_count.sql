-- Lists the imported requests for the latency bins.
create or replace temp table counted_requests as
select
    1 as sign, model, model_version, tenant, length_bucket, region, adapter, instance, ts, first_token_at,
    finished_at, ttft_seconds, tpot_seconds, e2e_seconds, queue_seconds, prefill_seconds
from joined_requests
