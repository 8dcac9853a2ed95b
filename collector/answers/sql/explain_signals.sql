-- Extra signals by time step, over all instances (source = signal) and by instance (source = signal|instance).
with stepped as (
    select
        epoch_us(ts) // ($step * 1000000) as step,
        signal,
        instance,
        value
    from signal_samples
    where ts >= $low and ts < $high and (model is null or model = $model)
)

select
    step,
    signal as source,
    avg(value) as value
from stepped
group by all
union all
select
    step,
    signal || '|' || instance as source,
    avg(value) as value
from stepped
where instance is not null
group by all
