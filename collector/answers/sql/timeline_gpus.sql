-- GPU activity by step over the GPUs of an instance, or of all.
select
    time_bucket(to_seconds($step), ts) as ts,
    count(distinct gpu) as gpus,
    avg(sm_active_ratio) as sm_active_ratio,
    avg(dram_bandwidth_ratio) as dram_bandwidth_ratio,
    avg(tensor_active_ratio) as tensor_active_ratio,
    sum(power_watts) / nullif(count(distinct ts), 0) as power_watts,
    count(*) filter (where state <> 'ok') as not_ok
from gpu_samples
where ts >= $start and ts < $end and ($instance is null or instance = $instance)
group by 1
order by 1
