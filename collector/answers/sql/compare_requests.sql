-- Requests of two values of one dimension with their latencies, tokens and moment, for a comparison; one in $every.
with chosen as (
    select
        case $by
            when 'model_version' then model_version
            when 'model' then model
            when 'instance' then instance
            when 'pool' then pool
            when 'region' then region
            when 'adapter' then adapter
            when 'tenant' then tenant
            when 'engine' then engine
            when 'domain' then domain
            when 'class' then class
        end as side,
        model, status, ttft_seconds, tpot_seconds, e2e_seconds, queue_seconds, output_tokens, length_bucket,
        case source when 'gateway' then 2 when 'joined' then 2 when 'engine' then 0 else 1 end as source_rank,
        coalesce(finished_at, ts + to_microseconds(cast(round(e2e_seconds * 1e6) as bigint)), ts) as moment
    from requests
    where ts >= cast($since as timestamptz) and ts < cast($until as timestamptz)
        and (cast($model as varchar) is null or model = cast($model as varchar))
        and hash(request_id) % $every = 0
),
sources as (
    select model, date_trunc('hour', moment) as hour, max(source_rank) as source_rank
    from chosen
    group by all
)
select
    side, status, ttft_seconds, tpot_seconds, e2e_seconds, queue_seconds, output_tokens, length_bucket,
    epoch_us(moment) / 1e6 as at_seconds
from chosen
join sources
    on chosen.model is not distinct from sources.model
    and date_trunc('hour', chosen.moment) = sources.hour
    and chosen.source_rank = sources.source_rank
where side in ($a, $b)
order by at_seconds
