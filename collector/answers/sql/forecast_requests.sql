-- Demand by arrival of one model, by step, tenant and length bucket.
select
    cast(floor(epoch(ts) / $step_seconds) as bigint) as step,
    tenant,
    length_bucket,
    count(*) as requests,
    sum(input_tokens) as input_tokens,
    sum(cached_tokens) as cached_tokens,
    sum(output_tokens) as output_tokens
from requests
where model = $model and ts > $start and ts <= $until
group by all
order by step
