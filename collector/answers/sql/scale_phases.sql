-- What engines told of the phases of their starts since $since: spans once each, gauges by the first page that shows them.
with told as (
    select
        coalesce(instance_aliases.instance, signal_samples.instance) as instance,
        signal_samples.attributes['phase'] as phase,
        signal_samples.ts,
        signal_samples.value as seconds
    from signal_samples
    left join instance_aliases on instance_aliases.alias = signal_samples.instance
    where
        signal_samples.signal = 'startup_phase_seconds'
        and signal_samples.ts > $since
        and signal_samples.ts <= $now
        and signal_samples.value >= 0
        and signal_samples.instance is not null
        and signal_samples.attributes['phase'] is not null
),
lives as (
    select distinct instance, started_at
    from instances
    where started_at <= $now
)
select told.instance, lives.started_at, told.phase, told.seconds, min(told.ts) as ended_at
from told
asof left join lives on lives.instance = told.instance and told.ts >= lives.started_at
group by told.instance, lives.started_at, told.phase, told.seconds
order by told.instance, ended_at
