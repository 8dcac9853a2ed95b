-- Demand by arrival of one model, by step, tenant and length bucket.
--
-- Sums stand for requests that were dropped; a step that is no multiple of theirs cannot be made of them.
with asked as (
    select ts, tenant, length_bucket, 1 as requests, input_tokens, cached_tokens, output_tokens
    from requests
    where model = $model and ts > $start and ts <= $until
    union all
    select ts, tenant, length_bucket, requests, input_tokens, cached_tokens, output_tokens
    from demand
    where model = $model and ts > $start and ts <= $until and $step_seconds % 300 = 0
)
select
    cast(floor(epoch(ts) / $step_seconds) as bigint) as step,
    tenant,
    length_bucket,
    cast(sum(requests) as bigint) as requests,
    sum(input_tokens) as input_tokens,
    sum(cached_tokens) as cached_tokens,
    sum(output_tokens) as output_tokens
from asked
group by all
order by step
