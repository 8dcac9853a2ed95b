-- Requests of one model in a span of time, in order of arrival, with what a replay needs of them.
select
    ts,
    input_tokens,
    output_tokens,
    cached_tokens,
    session,
    spec_accepted_tokens,
    ttft_seconds
from requests
where model = $model and ts > $since and ts <= $now and status not in ('client_error', 'rate_limited')
order by ts
