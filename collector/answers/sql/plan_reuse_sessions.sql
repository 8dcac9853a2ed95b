-- Time from each turn of a session to the next, in logarithmic bins; turns without a next one by age so far.
with turns as (
    select
        ts,
        lead(ts) over (partition by session order by ts) as next_ts,
        coalesce(turn, row_number() over (partition by session order by ts)) as turn
    from requests
    where ts between $since and $until and ($model::varchar is null or model = $model) and session is not null
)
select
    case when turn = 1 then 'first' else 'later' end as kind,
    next_ts is not null as returned,
    cast(floor(10 * ln(greatest(epoch(coalesce(next_ts, $until)) - epoch(ts), 0.001))) as bigint) as bin,
    count(*)::double as turns
from turns
group by all
order by kind, bin
