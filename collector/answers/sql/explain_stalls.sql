-- Silences of each instance: gaps between quarter seconds with a first or last token, before and during a window.
with events as (
    select
        instance,
        epoch_ms(first_token_at) // 250 as slot
    from requests
    where model = $model and instance is not null and first_token_at is not null and ts >= $low and ts < $high
    union
    select
        instance,
        epoch_ms(finished_at) // 250 as slot
    from requests
    where model = $model and instance is not null and finished_at is not null and ts >= $low and ts < $high
),

gaps as (
    select
        instance,
        slot,
        (slot - lag(slot) over (partition by instance order by slot)) * 0.25 as gap
    from events
),

-- A silence is one that neither the time before nor the pace of tokens now makes likely: of r events a second over T
-- seconds, about one gap in two windows is longer than ln(2 r T) / r.
usual as (
    select
        instance,
        max(gap) filter (where slot < epoch_ms($start) // 250) as longest,
        count(*) filter (where slot >= epoch_ms($start) // 250 and slot < epoch_ms($end) // 250) as events,
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
where gaps.slot >= epoch_ms($start) // 250 and gaps.slot < epoch_ms($end) // 250
group by gaps.instance
