-- Counts good, bad and excluded requests of one objective by its dimensions, by minute or by look-back window.
--
-- ring n: inside the n innermost of $starts but not further in; sum rings outwards.
-- source_rank: per model and hour only the best source counts: gateway (2), logs and imports (1), engine spans (0).
-- Counting comes before choosing the source, so that requests are read once.
with timed as (
    select
        model, tenant, length_bucket, model_version, region, adapter, status, output_tokens,
        ttft_seconds, tpot_seconds, e2e_seconds,
        case source when 'gateway' then 2 when 'joined' then 2 when 'engine' then 0 else 1 end as source_rank,
        coalesce(list_position(cast($buckets as varchar[]), length_bucket), 8) as place,
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
scoped as (
    select
        model, tenant, length_bucket, model_version, region, adapter, status, output_tokens,
        ttft_seconds, tpot_seconds, e2e_seconds, source_rank, moment,
        case when $has_ttft then list_extract(cast($ttft_limits as double[]), place) else 'infinity' end as ttft_limit,
        case when $has_tpot then list_extract(cast($tpot_limits as double[]), place) else 'infinity' end as tpot_limit,
        case when $has_e2e then list_extract(cast($e2e_limits as double[]), place) else 'infinity' end as e2e_limit,
        list_extract(list_filter(
            cast($exclusions as struct(
                name varchar, opens timestamptz, closes timestamptz, models varchar[], tenants varchar[],
                length_buckets varchar[], model_versions varchar[], regions varchar[], adapters varchar[]
            )[]),
            lambda left_out: (left_out.opens is null or moment >= left_out.opens)
                and (left_out.closes is null or moment < left_out.closes)
                and (left_out.models is null or coalesce(list_contains(left_out.models, model), false))
                and (left_out.tenants is null or coalesce(list_contains(left_out.tenants, tenant), false))
                and (left_out.length_buckets is null or coalesce(list_contains(left_out.length_buckets, length_bucket), false))
                and (left_out.model_versions is null or coalesce(list_contains(left_out.model_versions, model_version), false))
                and (left_out.regions is null or coalesce(list_contains(left_out.regions, region), false))
                and (left_out.adapters is null or coalesce(list_contains(left_out.adapters, adapter), false))
        ), 1).name as exclusion,
        coalesce((cast($tenant as varchar[]) is null or list_contains(cast($tenant as varchar[]), tenant))
            and (cast($length_bucket as varchar[]) is null or list_contains(cast($length_bucket as varchar[]), length_bucket))
            and (cast($model_version as varchar[]) is null or list_contains(cast($model_version as varchar[]), model_version))
            and (cast($region as varchar[]) is null or list_contains(cast($region as varchar[]), region))
            and (cast($adapter as varchar[]) is null or list_contains(cast($adapter as varchar[]), adapter)), false) as inside
    from timed
    where moment >= cast($since as timestamptz) and moment < cast($until as timestamptz)
),
judged as (
    select
        model, tenant, length_bucket, model_version, region, adapter, moment, source_rank, exclusion,
        case
            when not inside or ttft_limit is null or tpot_limit is null or e2e_limit is null then 'outside'
            when exclusion is not null then 'excluded'
            when status in ('client_error', 'rate_limited') then 'excluded'
            when status in ('error', 'timeout', 'rejected') then 'bad'
            when ttft_seconds > ttft_limit or tpot_seconds > tpot_limit or e2e_seconds > e2e_limit then 'bad'
            when status = 'aborted' and ttft_seconds is null then 'bad'
            when status = 'aborted' then 'good'
            when status != 'ok' then 'excluded'
            when $has_ttft and ttft_seconds is null then 'unmeasured'
            when $has_e2e and e2e_seconds is null then 'unmeasured'
            when $has_tpot and tpot_seconds is null and coalesce(output_tokens > 1, true) then 'unmeasured'
            else 'good'
        end as verdict
    from scoped
),
counted as (
    select
        model as served_model,
        date_trunc('hour', moment) as hour,
        source_rank,
        case when $by_minute then date_trunc('minute', moment) end as ts,
        len(list_filter(cast($starts as timestamptz[]), lambda opening: moment >= opening)) as ring,
        case when $by_tenant and verdict != 'outside' then tenant end as tenant,
        case when $by_length_bucket and verdict != 'outside' then length_bucket end as length_bucket,
        case when $by_model_version and verdict != 'outside' then model_version end as model_version,
        case when $by_region and verdict != 'outside' then region end as region,
        case when $by_adapter and verdict != 'outside' then adapter end as adapter,
        case when not $by_minute and verdict != 'outside' then exclusion end as exclusion,
        count(*) filter (where verdict = 'good') as good,
        count(*) filter (where verdict = 'bad') as bad,
        count(*) filter (where verdict in ('excluded', 'unmeasured')) as excluded,
        count(*) filter (where verdict = 'unmeasured') as unmeasured
    from judged
    group by all
),
ranked as (
    select
        served_model, ts, ring, tenant, length_bucket, model_version, region, adapter, exclusion, source_rank,
        good, bad, excluded, unmeasured,
        max(source_rank) over (partition by served_model, hour) as best_rank
    from counted
)
select
    ts,
    ring,
    case when $by_model then served_model end as model,
    tenant, length_bucket, model_version, region, adapter, exclusion, source_rank,
    cast(sum(good) as bigint) as good,
    cast(sum(bad) as bigint) as bad,
    cast(sum(excluded) as bigint) as excluded,
    cast(sum(unmeasured) as bigint) as unmeasured
from ranked
where source_rank = best_rank and good + bad + excluded > 0
group by all
order by 1, 2, 3, 4, 5, 6, 7, 8
