-- Silences of each instance: gaps between slots of 2^18 µs (about a quarter second) with a first or last token.
with events as (
    select
        instance,
        epoch_us(first_token_at) >> 18 as slot
    from requests
    where model = $model and instance is not null and first_token_at is not null and ts >= $low and ts < $high
    union
    select
        instance,
        epoch_us(finished_at) >> 18 as slot
    from requests
    where model = $model and instance is not null and finished_at is not null and ts >= $low and ts < $high
),

gaps as (
    select
        instance,
        slot,
        (slot - lag(slot) over (partition by instance order by slot)) * 0.262144 as gap
    from events
),

-- A silence is one that neither the time before nor the pace of tokens now makes likely: of r events a second over T
-- seconds, about one gap in two windows is longer than ln(2 r T) / r.
usual as (
    select
        instance,
        max(gap) filter (where slot < (epoch_us($start) >> 18)) as longest,
        count(*) filter (where slot >= (epoch_us($start) >> 18) and slot < (epoch_us($end) >> 18)) as events,
        (epoch_ms($end) - epoch_ms($start)) / 1000 as seconds
    from gaps
    group by instance
)

select
    gaps.instance,
    any_value(usual.longest) as gap_before,
    max(gaps.gap) as gap_during,
    count(*) filter (where gaps.gap >= greatest(
            1.2 * usual.longest, 1.0, ln(2.0 * greatest(usual.events, 1)) * usual.seconds / greatest(usual.events, 1)
        )) as long_gaps
from gaps
inner join usual on gaps.instance = usual.instance
where gaps.slot >= (epoch_us($start) >> 18) and gaps.slot < (epoch_us($end) >> 18)
group by gaps.instance
