-- Hosts by time step.
select
    epoch_us(ts) // ($step * 1000000) as step,
    host,
    avg(cpu_ratio) as cpu_ratio,
    avg(cpu_pressure_ratio) as cpu_pressure_ratio,
    avg(memory_pressure_ratio) as memory_pressure_ratio,
    avg(io_pressure_ratio) as io_pressure_ratio,
    avg(engine_cpu_ratio) as engine_cpu_ratio,
    sum(nic_errors) as nic_errors,
    sum(rdma_errors) as rdma_errors,
    avg(rdma_rx_bytes_per_second + rdma_tx_bytes_per_second) as rdma_bytes,
    avg(disk_read_bytes_per_second) as disk_read_bytes_per_second
from host_samples
where ts >= $low and ts < $high
group by all
