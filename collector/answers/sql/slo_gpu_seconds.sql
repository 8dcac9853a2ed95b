-- GPU-seconds of every model's instances within a window; NULL where an instance does not say how many GPUs it has.
select
    model,
    case when count(gpu_count) = count(*) then sum(
        gpu_count * epoch(
            least(coalesce(stopped_at, cast($until as timestamptz)), cast($until as timestamptz))
            - greatest(started_at, cast($since as timestamptz))
        )
    ) end as gpu_seconds
from instances
where started_at < cast($until as timestamptz)
    and (stopped_at is null or stopped_at > cast($since as timestamptz))
group by model
order by model
