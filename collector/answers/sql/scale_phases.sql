-- What engines told of the phases of their starts since $since: spans once each, gauges by the first page that shows them.
with told as (
    select instance, attributes['phase'] as phase, value as seconds, min(ts) as ended_at
    from signal_samples
    where
        signal = 'startup_phase_seconds'
        and ts > $since
        and ts <= $now
        and value >= 0
        and instance is not null
        and attributes['phase'] is not null
    group by all
),
named as (
    select coalesce(instance_aliases.instance, told.instance) as instance, told.phase, told.seconds, told.ended_at
    from told
    left join instance_aliases on instance_aliases.alias = told.instance
),
lives as (
    select distinct instance, started_at
    from instances
    where started_at <= $now
)
select named.instance, lives.started_at, named.phase, named.seconds, named.ended_at
from named
asof left join lives on lives.instance = named.instance and named.ended_at >= lives.started_at
order by named.instance, named.ended_at
