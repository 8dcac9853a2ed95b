-- Sums tokens by model, tenant and length, of all requests and of those that meet the objective's limits.
with timed as (
    select
        model, tenant, length_bucket, status, input_tokens, cached_tokens, output_tokens,
        ttft_seconds, tpot_seconds, e2e_seconds,
        case source when 'gateway' then 2 when 'joined' then 2 when 'engine' then 0 else 1 end as source_rank,
        coalesce(finished_at, ts + to_microseconds(cast(round(e2e_seconds * 1e6) as bigint)), ts) as moment,
        coalesce(list_position(cast($buckets as varchar[]), length_bucket), 8) as place
    from requests
    where ts >= cast($since as timestamptz) - interval 1 day and ts < cast($until as timestamptz)
),
events as (
    select
        model, tenant, length_bucket, status, input_tokens, least(coalesce(cached_tokens, 0), input_tokens) as cached,
        cached_tokens is null as cached_unknown, output_tokens, ttft_seconds, tpot_seconds, e2e_seconds, source_rank,
        date_trunc('hour', moment) as hour,
        list_extract(cast($ttft_limits as double[]), place) as ttft_limit,
        list_extract(cast($tpot_limits as double[]), place) as tpot_limit,
        list_extract(cast($e2e_limits as double[]), place) as e2e_limit
    from timed
    where moment >= cast($since as timestamptz) and moment < cast($until as timestamptz)
),
sources as (
    select model, hour, max(source_rank) as source_rank
    from events
    group by model, hour
),
served as (
    select
        events.model, tenant, length_bucket, input_tokens, cached, cached_unknown, output_tokens,
        status = 'ok'
            and not coalesce(ttft_seconds > ttft_limit or tpot_seconds > tpot_limit or e2e_seconds > e2e_limit, false)
            and (not $has_ttft or ttft_seconds is not null) as is_good
    from events
    join sources
        on events.model is not distinct from sources.model
        and events.hour = sources.hour
        and events.source_rank = sources.source_rank
)
select
    model, tenant, length_bucket,
    count(*) as requests,
    count(*) filter (where is_good) as good_requests,
    count(*) filter (where cached_unknown) as without_cached,
    coalesce(cast(sum(input_tokens - cached) as bigint), 0) as input,
    coalesce(cast(sum(cached) as bigint), 0) as cached,
    coalesce(cast(sum(output_tokens) as bigint), 0) as output,
    coalesce(cast(sum(input_tokens - cached) filter (where is_good) as bigint), 0) as good_input,
    coalesce(cast(sum(cached) filter (where is_good) as bigint), 0) as good_cached,
    coalesce(cast(sum(output_tokens) filter (where is_good) as bigint), 0) as good_output
from served
group by model, tenant, length_bucket
order by model, tenant, length_bucket
