"""What serves: lives of instances and their names, GPUs, hosts, and what was changed."""

from __future__ import annotations

from signals.schema import View, columns

GPU_SAMPLES = View(
    "gpu_samples",
    "One GPU over 5 s: the mean of its ticks, and the maximum where named.",
    columns("""
ts TIMESTAMPTZ !*
host VARCHAR !*
gpu VARCHAR !* : uuid
index INTEGER
mig VARCHAR : MIG instance
instance VARCHAR : engine that runs on it
sm_active_ratio DOUBLE
sm_active_ratio_max DOUBLE
sm_occupancy_ratio DOUBLE
sm_occupancy_ratio_max DOUBLE
tensor_active_ratio DOUBLE
tensor_active_ratio_max DOUBLE
dram_bandwidth_ratio DOUBLE : share of peak DRAM bandwidth (GPM)
dram_bandwidth_ratio_max DOUBLE
memory_busy_ratio DOUBLE : share of time with memory traffic; not a bandwidth
pcie_tx_bytes_per_second DOUBLE
pcie_rx_bytes_per_second DOUBLE
nvlink_tx_bytes_per_second DOUBLE
nvlink_rx_bytes_per_second DOUBLE
memory_used_bytes BIGINT
memory_total_bytes BIGINT
power_watts DOUBLE
energy_joules DOUBLE : used over the row's interval
temperature_celsius DOUBLE
sm_clock_mhz DOUBLE
memory_clock_mhz DOUBLE
throttle_reasons VARCHAR[]
ecc_uncorrected BIGINT
remapped_rows BIGINT
state VARCHAR ! : ok, lost or hung
gpm_state VARCHAR : supported, unsupported, no_permission or error
"""),
)

GPU_EVENTS = View(
    "gpu_events",
    "XID errors, GPUs lost and back, driver upgrades.",
    columns("""
ts TIMESTAMPTZ !*
host VARCHAR !*
gpu VARCHAR !*
kind VARCHAR !*
code BIGINT
"""),
)

HOST_SAMPLES = View(
    "host_samples",
    "One host over 5 s.",
    columns("""
ts TIMESTAMPTZ !*
host VARCHAR !*
cpu_ratio DOUBLE
cpu_pressure_ratio DOUBLE : PSI some
memory_pressure_ratio DOUBLE
io_pressure_ratio DOUBLE
engine_cpu_ratio DOUBLE : CPU of engine processes, of one core
nic_rx_bytes_per_second DOUBLE
nic_tx_bytes_per_second DOUBLE
nic_errors DOUBLE
rdma_rx_bytes_per_second DOUBLE
rdma_tx_bytes_per_second DOUBLE
rdma_errors DOUBLE
disk_read_bytes_per_second DOUBLE
"""),
)

INSTANCES = View(
    "instances",
    "One life of one instance, from start to stop.",
    columns("""
instance VARCHAR !*
pool VARCHAR
model VARCHAR *
model_version VARCHAR
engine VARCHAR
engine_version VARCHAR
host VARCHAR
region VARCHAR
role VARCHAR
gpu_type VARCHAR
gpu_count INTEGER
kv_capacity_tokens BIGINT
block_tokens INTEGER
max_running INTEGER
started_at TIMESTAMPTZ *
ready_at TIMESTAMPTZ
draining_at TIMESTAMPTZ
stopped_at TIMESTAMPTZ
config MAP(VARCHAR,VARCHAR)
"""),
)

INSTANCE_ALIASES = View(
    "instance_aliases",
    "Other names of an instance (service.instance.id, worker ids, pod names).",
    columns("""
alias VARCHAR !*
instance VARCHAR !*
"""),
)

CHANGES = View(
    "changes",
    "What people and controllers did: releases, configuration, scaling, routing, faults, notes.",
    columns("""
ts TIMESTAMPTZ !*
kind VARCHAR !* : release, config, scale, routing, traffic, fault or note
model VARCHAR
model_version VARCHAR
pool VARCHAR
instance VARCHAR
region VARCHAR
tenant VARCHAR
summary VARCHAR !*
source VARCHAR
external_id VARCHAR
"""),
)
