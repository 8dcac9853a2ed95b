"""The public schema: every view with its columns, types and meaning; what import accepts and SQL users rely on.

Types are DuckDB's. A column may hold NULL unless `required`; missing is NULL, never 0.
"""

from __future__ import annotations

from signals.schema import View, columns

__all__ = ["VIEWS"]


REQUESTS = View(
    "requests",
    "One row per request, joined from its gateway and engine halves.",
    columns("""
ts TIMESTAMPTZ !* : arrival
first_token_at TIMESTAMPTZ : first output token
finished_at TIMESTAMPTZ : last output token or failure
request_id VARCHAR ! : gateway call id where known, else the engine's request id
trace_id VARCHAR : W3C trace id, 32 hex digits
model VARCHAR * : name the engine serves
requested_model VARCHAR : name the client asked for
model_version VARCHAR : from configuration, else pod label, else image digest
tenant VARCHAR : team alias, else team id, as configured by tenant_from
domain VARCHAR : kind of work, from a configured rule or request metadata
class VARCHAR : interactive or deferrable
region VARCHAR
pool VARCHAR
instance VARCHAR : the engine that decoded it
prefill_instance VARCHAR : the engine that prefilled it, where prefill and decode are split
role VARCHAR : both, prefill or decode
engine VARCHAR
adapter VARCHAR : LoRA adapter
attempts INTEGER : tries that the gateway made
input_tokens BIGINT
cached_tokens BIGINT : input tokens read from a prefix cache
output_tokens BIGINT
length_bucket VARCHAR : by input tokens, see signals.lengths
queue_seconds DOUBLE : waiting for a seat in the engine
prefill_seconds DOUBLE
transfer_seconds DOUBLE : KV transfer between prefill and decode
decode_seconds DOUBLE
gateway_seconds DOUBLE : time to first token spent before the engine had the request
ttft_seconds DOUBLE : what the user saw: the gateway's where it exists
tpot_seconds DOUBLE : (e2e - ttft) / (output_tokens - 1); NULL when output_tokens <= 1
e2e_seconds DOUBLE : what the user saw
engine_ttft_seconds DOUBLE
engine_e2e_seconds DOUBLE
status VARCHAR ! : ok, error, timeout, rejected, aborted, client_error or rate_limited
finish_reason VARCHAR
structured BOOLEAN : constrained output
temperature DOUBLE
spec_draft_tokens BIGINT
spec_accepted_tokens BIGINT
session VARCHAR
turn INTEGER
prefix_hashes BIGINT[] : prefix-chained block hashes, never text
source VARCHAR ! : gateway, engine, joined, log or import
"""),
)

ARRIVALS = View(
    "arrivals",
    "Arrivals alone, as public traces have them; for replay and planning.",
    columns("""
ts TIMESTAMPTZ !* : arrival
model VARCHAR *
tenant VARCHAR
session VARCHAR
input_tokens BIGINT *
output_tokens BIGINT
prefix_hashes BIGINT[]
"""),
)

ENGINE_SAMPLES = View(
    "engine_samples",
    "One scrape of one instance and model: gauges as read, counters as the increment over interval_seconds.",
    columns("""
ts TIMESTAMPTZ !* : time of the scrape
interval_seconds DOUBLE : since the previous good scrape; NULL for the first
instance VARCHAR !*
model VARCHAR *
role VARCHAR : both, prefill or decode; both where an import does not say
engine VARCHAR : unknown where an import does not say
engine_version VARCHAR
model_version VARCHAR
pool VARCHAR
region VARCHAR
scrape_state VARCHAR ! : ok, failed, frozen or gone
queue_depth DOUBLE : requests waiting, summed over ranks
queue_max DOUBLE : requests waiting on the fullest rank
running DOUBLE : requests in the batch, summed over ranks
kv_usage_ratio DOUBLE : mean over ranks, 0..1
kv_usage_max_ratio DOUBLE : fullest rank, 0..1
adapters_running DOUBLE
adapters_waiting DOUBLE
prompt_tokens DOUBLE
generation_tokens DOUBLE
prefix_query_tokens DOUBLE
prefix_hit_tokens DOUBLE
external_hit_tokens DOUBLE
preemptions DOUBLE
steps DOUBLE : engine iterations
step_tokens DOUBLE : tokens computed in those iterations
step_seconds DOUBLE
first_tokens DOUBLE : requests that got their first token
finished DOUBLE : requests that the engine counts as finished
rejected DOUBLE : refused at admission
queue_seconds_sum DOUBLE
prefill_seconds_sum DOUBLE
spec_drafts DOUBLE
spec_draft_tokens DOUBLE
spec_accepted_tokens DOUBLE
spec_accepted_by_position BIGINT[]
grammar_seconds DOUBLE
kv_transfer_bytes DOUBLE
kv_transfer_seconds DOUBLE
"""),
)

ENGINE_BINS = View(
    "engine_bins",
    "Scraped histograms: observations per interval between the engine's own edges.",
    columns("""
ts TIMESTAMPTZ !*
interval_seconds DOUBLE *
instance VARCHAR !*
model VARCHAR *
metric VARCHAR !* : ttft_seconds, tpot_seconds, e2e_seconds, queue_seconds, ...
edge_lo DOUBLE !* : exclusive
edge_hi DOUBLE : inclusive; NULL above the last edge
count BIGINT !*
"""),
)

LATENCY_BINS = View(
    "latency_bins",
    "Request latencies in logarithmic bins (signals.bins), merged by adding counts.",
    columns("""
ts TIMESTAMPTZ !*
step_seconds INTEGER ! : 60, 300 or 3600
metric VARCHAR ! : ttft_seconds by first token; tpot_seconds, e2e_seconds, ... by finish
model VARCHAR
model_version VARCHAR
tenant VARCHAR
length_bucket VARCHAR
region VARCHAR
adapter VARCHAR
bin SMALLINT !
count BIGINT ! : signed
"""),
    importable=False,
)

INSTANCE_BINS = View(
    "instance_bins",
    "Request latencies in logarithmic bins by instance.",
    columns("""
ts TIMESTAMPTZ !*
step_seconds INTEGER !
metric VARCHAR !
model VARCHAR
instance VARCHAR
bin SMALLINT !
count BIGINT !
"""),
    importable=False,
)

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

SIGNAL_SAMPLES = View(
    "signal_samples",
    "Every canonical signal that has no column elsewhere; counters as increments.",
    columns("""
ts TIMESTAMPTZ !*
instance VARCHAR
model VARCHAR
tenant VARCHAR
length_bucket VARCHAR
signal VARCHAR !*
attributes MAP(VARCHAR,VARCHAR)
value DOUBLE *
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

OBJECTIVE_COUNTS = View(
    "objective_counts",
    "Good and bad events of each objective by minute.",
    columns("""
ts TIMESTAMPTZ !* : minute
objective VARCHAR !*
revision INTEGER !
model VARCHAR
tenant VARCHAR
length_bucket VARCHAR
model_version VARCHAR
region VARCHAR
adapter VARCHAR
good BIGINT !
bad BIGINT !
excluded BIGINT !
unattributed_bad BIGINT !
exact BOOLEAN ! : counted from requests, not estimated from edges
"""),
    importable=False,
)

RECOMMENDATIONS = View(
    "recommendations",
    "Every scaling decision with its reasons, graded later.",
    columns("""
ts TIMESTAMPTZ !*
pool VARCHAR !*
model VARCHAR
role VARCHAR
region VARCHAR
current INTEGER
proposed INTEGER
action VARCHAR ! : up, down, hold, hold_blind or pinned
binding VARCHAR
confidence DOUBLE
valid_until TIMESTAMPTZ
document VARCHAR ! : the whole decision as JSON
grade VARCHAR : given once the horizon has passed
"""),
    importable=False,
)

INCIDENTS = View(
    "incidents",
    "Spikes found by the incident job, de-duplicated; people add their verdict.",
    columns("""
incident VARCHAR !*
model VARCHAR
metric VARCHAR
started_at TIMESTAMPTZ !*
ended_at TIMESTAMPTZ
stage VARCHAR
cause VARCHAR
confidence DOUBLE
document VARCHAR ! : the whole explanation as JSON
human_verdict VARCHAR
human_note VARCHAR
"""),
    importable=False,
)

DEMAND = View(
    "demand",
    "Demand in steps of five minutes of requests that are no longer stored one by one.",
    columns("""
ts TIMESTAMPTZ !* : begin of the step; by arrival
model VARCHAR
tenant VARCHAR
length_bucket VARCHAR
requests BIGINT !
input_tokens BIGINT
cached_tokens BIGINT
output_tokens BIGINT
"""),
    importable=False,
)

ENGINE_DEMAND = View(
    "engine_demand",
    "What engines counted in steps of five minutes, of scrapes that are no longer stored one by one.",
    columns("""
ts TIMESTAMPTZ !* : begin of the step
model VARCHAR
scrapes BIGINT ! : good ones
first_tokens DOUBLE : requests that got their first token
prompt_tokens DOUBLE
prefix_hit_tokens DOUBLE
generation_tokens DOUBLE
"""),
    importable=False,
)

#: Every stored public view by name, in the order of the documentation.
VIEWS: dict[str, View] = {
    view.name: view
    for view in (
        REQUESTS,
        ARRIVALS,
        ENGINE_SAMPLES,
        ENGINE_BINS,
        LATENCY_BINS,
        INSTANCE_BINS,
        GPU_SAMPLES,
        GPU_EVENTS,
        HOST_SAMPLES,
        SIGNAL_SAMPLES,
        INSTANCES,
        INSTANCE_ALIASES,
        CHANGES,
        OBJECTIVE_COUNTS,
        RECOMMENDATIONS,
        INCIDENTS,
        DEMAND,
        ENGINE_DEMAND,
    )
}
