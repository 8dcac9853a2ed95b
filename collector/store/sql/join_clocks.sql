-- Notes engines whose clock disagrees with the gateway's: they begin a request before it came or after it had ended.
insert into stored.quality (ts, source, kind, count, example)
select
    make_timestamptz(max(gateway_start) // 1000),
    instance,
    'clock_offset',
    count(*),
    'engine minus gateway: ' || round(median(engine_start - gateway_start) / 1e9, 1) || ' s'
from clock_faults
group by instance
