-- Sums of signals without a column by block of time, signal and the attribute that tells its kinds apart.
select
    least(cast(floor((epoch(ts) - epoch($since::timestamptz)) / $block_seconds) as int), $blocks - 1) as block,
    signal,
    coalesce(attributes['tier'], attributes['source'], attributes['mode'], attributes['phase'], '') as kind,
    sum(value) as value,
    count(value)::double as samples
from signal_samples
where ts between $since and $until and ($model::varchar is null or model is null or model = $model)
group by block, signal, kind
order by signal, kind, block
