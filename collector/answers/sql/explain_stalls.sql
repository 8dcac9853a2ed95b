-- The longest silence between first tokens of an instance with requests at hand, before and during a window.
with tokens as (
    select
        instance,
        first_token_at,
        ts,
        lag(first_token_at) over (partition by instance order by first_token_at) as previous
    from requests
    where
        model = $model and instance is not null and first_token_at is not null
        and ts >= $low and ts < $high
)

select
    instance,
    max(gap) filter (where first_token_at < $start) as gap_before,
    max(gap) filter (where first_token_at >= $start) as gap_during
from (
    select
        instance,
        first_token_at,
        -- Silence counts only from when the request that ends it had arrived.
        (epoch_us(first_token_at) - epoch_us(greatest(previous, ts))) / 1e6 as gap
    from tokens
    where previous is not null
)
group by instance
