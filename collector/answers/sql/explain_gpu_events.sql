-- GPU events around a window.
select
    ts,
    host,
    gpu,
    kind,
    code
from gpu_events
where ts >= $low and ts < $high
order by ts
