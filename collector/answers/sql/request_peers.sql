-- The other requests of the model in the same minute.
select
    count(*) as requests,
    quantile_disc(ttft_seconds, 0.5) as ttft_p50_seconds,
    quantile_disc(ttft_seconds, 0.99) as ttft_p99_seconds,
    quantile_disc(queue_seconds, 0.5) as queue_p50_seconds,
    quantile_disc(prefill_seconds, 0.5) as prefill_p50_seconds,
    quantile_disc(input_tokens, 0.5) as input_tokens_p50,
    count(*) filter (where status <> 'ok') as not_ok
from requests
where
    time_bucket(interval 1 minute, ts) = time_bucket(interval 1 minute, cast($at as timestamptz))
    and model is not distinct from $model
    and request_id <> $request_id
