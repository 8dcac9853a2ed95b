-- Requests of a scope by step of arrival, with the latency quantiles of those that have one.
select
    time_bucket(to_seconds($step), ts) as ts,
    count(*) as requests,
    count(*) filter (where status in ('error', 'timeout', 'rejected')) as failed,
    count(*) filter (where status = 'aborted') as aborted,
    quantile_disc(ttft_seconds, 0.5) as ttft_p50,
    quantile_disc(ttft_seconds, 0.99) as ttft_p99,
    quantile_disc(tpot_seconds, 0.5) as tpot_p50,
    quantile_disc(tpot_seconds, 0.99) as tpot_p99,
    avg(gateway_seconds) as gateway_seconds,
    avg(queue_seconds) as queue_seconds,
    avg(prefill_seconds) as prefill_seconds,
    cast(sum(input_tokens) as bigint) as input_tokens,
    cast(sum(output_tokens) as bigint) as output_tokens
from requests
where
    ts >= $start and ts < $end
    and ($model is null or model = $model)
    and ($tenant is null or tenant = $tenant)
    and ($length_bucket is null or length_bucket = $length_bucket)
    and ($instance is null or instance = $instance)
group by 1
order by 1
