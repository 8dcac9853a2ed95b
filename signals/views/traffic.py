"""What was asked for, and how long it took: requests, arrivals, latency bins, demand that outlives its requests."""

from __future__ import annotations

from signals.schema import View, columns

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
