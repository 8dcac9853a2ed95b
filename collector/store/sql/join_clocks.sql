-- Notes engines whose clock disagrees with the gateway's: they begin a request before it came or after it had ended.
insert into stored.quality (ts, source, kind, count, example)
select
    make_timestamptz(max(g.start_ns) // 1000),
    e.instance,
    'clock_offset',
    count(*),
    'engine minus gateway: ' || round(median(e.start_ns - g.start_ns) / 1e9, 1) || ' s'
from joining_pairs as p
join joining_gateways as g on g.gateway_key = p.gateway_key
join joining_engines as e on e.engine_part = p.engine_part
where p.served and (e.start_ns < g.start_ns - 1000000000 or (g.end_ns > g.start_ns and e.start_ns > g.end_ns + 1000000000))
group by e.instance
