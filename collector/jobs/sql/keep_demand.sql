-- Sums by five minutes what the requests that are about to be dropped asked for.
insert into stored.demand (ts, model, tenant, length_bucket, requests, input_tokens, cached_tokens, output_tokens)
select
    time_bucket(interval 5 minute, ts) as step, model, tenant, length_bucket,
    count(*), sum(input_tokens), sum(cached_tokens), sum(output_tokens)
from stored.requests
where ts < $requests
group by step, model, tenant, length_bucket
order by model, tenant, length_bucket, step
