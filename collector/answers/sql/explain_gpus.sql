-- GPUs by time step and the instance that runs on them; the widest reading of an instance's GPUs counts.
select
    epoch_us(g.ts) // ($step * 1000000) as step,
    coalesce(g.instance, lives.instance, g.host) as instance,
    any_value(g.host) as host,
    string_agg(distinct g.gpu, ',') as gpu_names,
    avg(g.sm_active_ratio) as sm_active_ratio,
    avg(g.dram_bandwidth_ratio) as dram_bandwidth_ratio,
    avg(g.memory_busy_ratio) as memory_busy_ratio,
    avg(g.power_watts) as power_watts,
    max(g.temperature_celsius) as temperature_celsius,
    avg(g.sm_clock_mhz) as sm_clock_mhz,
    avg(g.memory_clock_mhz) as memory_clock_mhz,
    avg(
        case
            when g.throttle_reasons is null then null
            when len(
                list_filter(
                    g.throttle_reasons,
                    lambda reason: not regexp_matches(lower(reason), 'idle|none|app|applications|display')
                )
            ) > 0 then 1.0
            else 0.0
        end
    ) as throttled,
    max(g.ecc_uncorrected)::double as ecc_uncorrected,
    max(g.remapped_rows)::double as remapped_rows,
    avg(case when g.state = 'ok' then 0.0 else 1.0 end) as unwell,
    avg(g.nvlink_rx_bytes_per_second + g.nvlink_tx_bytes_per_second) as nvlink_bytes
from gpu_samples as g
left join (
    select
        host,
        any_value(instance) as instance
    from instances
    where host is not null and model = $model
    group by host
    having count(distinct instance) = 1
) as lives on g.host = lives.host and g.instance is null
where g.ts >= $low and g.ts < $high
group by all
