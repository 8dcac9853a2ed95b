-- Pairs each engine half with the gateway request that it served: by response id, else alone in the same trace.
create or replace temp table joining_pairs as
with lone_traces as (
    select trace_id
    from joining_gateways
    where trace_id is not null
    group by trace_id
    having count(*) = 1
),
candidates as (
    select g.gateway_key, e.engine_part, 1 as rank, abs(e.start_ns - g.start_ns) as distance, e.end_ns, e.status
    from joining_engines as e
    join joining_gateways as g on g.match = e.match
    where abs(e.start_ns - g.start_ns) < 21600000000000
    union all
    select g.gateway_key, e.engine_part, 2 as rank, abs(e.start_ns - g.start_ns) as distance, e.end_ns, e.status
    from joining_engines as e
    join joining_gateways as g on g.trace_id = e.trace_id
    where g.trace_id in (select trace_id from lone_traces)
),
nearest as (
    select gateway_key, engine_part, rank, end_ns, status
    from candidates
    qualify row_number() over (partition by engine_part order by rank, distance, gateway_key) = 1
)
select
    gateway_key,
    engine_part,
    count(*) over (partition by gateway_key) as tries,
    row_number() over (partition by gateway_key order by rank, status <> 'ok', end_ns desc) = 1 as served
from nearest
