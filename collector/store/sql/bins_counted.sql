-- Lists what the join changed: new rows count once, replaced rows are taken back.
create or replace temp table counted_requests as
select
    1 as sign, model, model_version, tenant, length_bucket, region, adapter, instance, ts, first_token_at,
    finished_at, ttft_seconds, tpot_seconds, e2e_seconds, queue_seconds, prefill_seconds
from joined_requests
union all
select
    -1 as sign, model, model_version, tenant, length_bucket, region, adapter, instance, ts, first_token_at,
    finished_at, ttft_seconds, tpot_seconds, e2e_seconds, queue_seconds, prefill_seconds
from replaced_requests
