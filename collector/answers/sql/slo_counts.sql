-- Counts good, bad and excluded requests of one objective by its dimensions, by minute or by look-back window.
--
-- windows: ring n holds what lies inside the n innermost starts of $starts but not further in; sum rings outwards.
-- source: per model and hour only the best one counts: gateway (2) before logs and imports (1) before engine spans (0).
with timed as (
    select
        model, tenant, length_bucket, model_version, region, adapter, status, output_tokens,
        ttft_seconds, tpot_seconds, e2e_seconds,
        case source when 'gateway' then 2 when 'joined' then 2 when 'engine' then 0 else 1 end as source_rank,
        coalesce(
            case when $by_first_token
                then coalesce(first_token_at, ts + to_microseconds(cast(round(ttft_seconds * 1e6) as bigint)))
            end,
            finished_at,
            ts + to_microseconds(cast(round(e2e_seconds * 1e6) as bigint)),
            ts
        ) as moment
    from requests
    where ts >= cast($since as timestamptz) - interval 1 day and ts < cast($until as timestamptz)
        and (cast($model as varchar[]) is null or list_contains(cast($model as varchar[]), model))
),
events as (
    select *, date_trunc('hour', moment) as hour
    from timed
    where moment >= cast($since as timestamptz) and moment < cast($until as timestamptz)
),
sources as (
    select model, hour, max(source_rank) as source_rank
    from events
    group by model, hour
),
exclusions as (
    select
        unnest(cast($excluded_name as varchar[])) as name,
        unnest(cast($excluded_from as timestamptz[])) as starts,
        unnest(cast($excluded_until as timestamptz[])) as ends,
        unnest(cast($excluded_model as varchar[][])) as models,
        unnest(cast($excluded_tenant as varchar[][])) as tenants,
        unnest(cast($excluded_length_bucket as varchar[][])) as length_buckets,
        unnest(cast($excluded_model_version as varchar[][])) as model_versions,
        unnest(cast($excluded_region as varchar[][])) as regions,
        unnest(cast($excluded_adapter as varchar[][])) as adapters
),
scoped as (
    select
        events.* exclude (hour, source_rank), events.source_rank,
        list_extract(cast($ttft_limits as double[]), coalesce(list_position(cast($buckets as varchar[]), length_bucket), 8)) as ttft_limit,
        list_extract(cast($tpot_limits as double[]), coalesce(list_position(cast($buckets as varchar[]), length_bucket), 8)) as tpot_limit,
        list_extract(cast($e2e_limits as double[]), coalesce(list_position(cast($buckets as varchar[]), length_bucket), 8)) as e2e_limit,
        (
            select min(exclusions.name)
            from exclusions
            where (exclusions.starts is null or moment >= exclusions.starts)
                and (exclusions.ends is null or moment < exclusions.ends)
                and (exclusions.models is null or list_contains(exclusions.models, events.model))
                and (exclusions.tenants is null or list_contains(exclusions.tenants, tenant))
                and (exclusions.length_buckets is null or list_contains(exclusions.length_buckets, length_bucket))
                and (exclusions.model_versions is null or list_contains(exclusions.model_versions, model_version))
                and (exclusions.regions is null or list_contains(exclusions.regions, region))
                and (exclusions.adapters is null or list_contains(exclusions.adapters, adapter))
        ) as exclusion
    from events
    join sources
        on events.model is not distinct from sources.model
        and events.hour = sources.hour
        and events.source_rank = sources.source_rank
    where (cast($tenant as varchar[]) is null or list_contains(cast($tenant as varchar[]), tenant))
        and (cast($length_bucket as varchar[]) is null or list_contains(cast($length_bucket as varchar[]), length_bucket))
        and (cast($model_version as varchar[]) is null or list_contains(cast($model_version as varchar[]), model_version))
        and (cast($region as varchar[]) is null or list_contains(cast($region as varchar[]), region))
        and (cast($adapter as varchar[]) is null or list_contains(cast($adapter as varchar[]), adapter))
),
judged as (
    select
        model, tenant, length_bucket, model_version, region, adapter, moment, source_rank, exclusion,
        case
            when exclusion is not null then 'excluded'
            when status in ('client_error', 'rate_limited') then 'excluded'
            when status in ('error', 'timeout', 'rejected') then 'bad'
            when ttft_seconds > ttft_limit or tpot_seconds > tpot_limit or e2e_seconds > e2e_limit then 'bad'
            when status = 'aborted' and ttft_seconds is null then 'bad'
            when status = 'aborted' then 'good'
            when status != 'ok' then 'excluded'
            when $has_ttft and ttft_seconds is null then 'excluded'
            when $has_e2e and e2e_seconds is null then 'excluded'
            when $has_tpot and tpot_seconds is null and coalesce(output_tokens > 1, true) then 'excluded'
            else 'good'
        end as verdict
    from scoped
    where (not $has_ttft or ttft_limit is not null)
        and (not $has_tpot or tpot_limit is not null)
        and (not $has_e2e or e2e_limit is not null)
)
select
    case when $by_minute then date_trunc('minute', moment) end as ts,
    len(list_filter(cast($starts as timestamptz[]), lambda opening: moment >= opening)) as ring,
    case when $by_model then model end as model,
    case when $by_tenant then tenant end as tenant,
    case when $by_length_bucket then length_bucket end as length_bucket,
    case when $by_model_version then model_version end as model_version,
    case when $by_region then region end as region,
    case when $by_adapter then adapter end as adapter,
    case when not $by_minute then exclusion end as exclusion,
    source_rank,
    count(*) filter (where verdict = 'good') as good,
    count(*) filter (where verdict = 'bad') as bad,
    count(*) filter (where verdict = 'excluded') as excluded,
    max(moment) as newest
from judged
group by all
order by 1, 2, 3, 4, 5, 6, 7, 8
