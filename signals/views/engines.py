"""What engines and gateways say of themselves: samples, their own histograms, further signals, past counts."""

from __future__ import annotations

from signals.schema import View, columns

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
