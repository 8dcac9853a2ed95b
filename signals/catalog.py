"""Every canonical signal: name, kind, unit, layer and meaning; the one place that the documentation is made from.

Names are SQL columns or values of `signal_samples.signal`, `sloscope.<name>` on OTLP, `sloscope_<name>` on Prometheus.
"""

from __future__ import annotations

from dataclasses import dataclass

from signals.views import ENGINE_SAMPLES

GAUGE, COUNTER, HISTOGRAM = "gauge", "counter", "histogram"
USER, ENGINE, RESOURCE = "user", "engine", "resource"


@dataclass(frozen=True, slots=True)
class Signal:
    """One canonical signal; `unit` is UCUM as OpenTelemetry writes it."""

    name: str
    kind: str
    unit: str
    layer: str
    help: str


def _signals(kind: str, layer: str, text: str) -> list[Signal]:
    """Read `name unit : help` lines."""
    found = []
    for line in text.strip().splitlines():
        head, _, note = line.partition(" : ")
        name, unit = head.split()
        found.append(Signal(name, kind, unit, layer, note.strip()))
    return found


_ALL = [
    *_signals(
        GAUGE,
        ENGINE,
        """
queue_depth {request} : requests waiting for a seat, summed over ranks
queue_max {request} : requests waiting on the fullest rank
queue_depth_by_reason {request} : requests waiting, by reason
running {request} : requests in the batch
kv_usage_ratio 1 : share of KV blocks in use, mean over ranks
kv_usage_max_ratio 1 : share of KV blocks in use on the fullest rank
adapters_running {adapter} : LoRA adapters with running requests
adapters_waiting {adapter} : LoRA adapters with waiting requests
gateway_in_flight {request} : requests inside the gateway
gateway_deployment_state 1 : 0 healthy, 1 partial, 2 complete outage
""",
    ),
    *_signals(
        COUNTER,
        ENGINE,
        """
prompt_tokens {token} : input tokens processed, cached ones included
generation_tokens {token} : output tokens
prompt_tokens_by_source {token} : input tokens by where they came from
prefix_query_tokens {token} : input tokens looked up in the prefix cache
prefix_hit_tokens {token} : input tokens found in the prefix cache
prefix_hit_tokens_by_tier {token} : the same by tier
external_query_tokens {token} : input tokens looked up in an external KV cache
external_hit_tokens {token} : input tokens found there
preemptions {request} : running requests put back for lack of KV blocks
steps {step} : engine iterations
step_tokens {token} : tokens computed in those iterations
step_seconds s : time in those iterations
first_tokens {request} : requests that got their first token
finished {request} : requests that the engine counts as finished
finished_by_reason {request} : the same by finish reason
rejected {request} : refused at admission
queue_seconds_sum s : waiting time of finished requests
prefill_seconds_sum s : prefill time of finished requests
spec_drafts {step} : speculative verifications
spec_draft_tokens {token} : drafted tokens
spec_accepted_tokens {token} : drafted tokens that were accepted
spec_accepted_by_position {token} : accepted tokens by draft position
grammar_seconds s : time compiling grammars
kv_transfer_bytes By : KV bytes moved between instances
kv_transfer_seconds s : time of those moves
kv_transfer_failures {transfer} : moves that failed
kv_leases_expired {request} : prefilled requests whose KV was never fetched
kv_offload_load_bytes By : KV bytes read back from a lower tier
kv_offload_store_bytes By : KV bytes written to a lower tier
http_requests {request} : HTTP answers by status class
gateway_input_tokens {token} : input tokens that the gateway counted
gateway_output_tokens {token} : output tokens that the gateway counted
gateway_cached_tokens {token} : cached input tokens that the gateway counted
gateway_spend_usd USD : what the gateway charged
gateway_requests {request} : gateway answers by status
gateway_failures {request} : failed gateway requests by status
gateway_fallbacks {request} : requests that another deployment served
""",
    ),
    *_signals(
        HISTOGRAM,
        USER,
        """
ttft_seconds s : time to first token, counted when the token leaves
itl_seconds s : inter-token latency, one observation per engine step; not comparable across engines
tpot_seconds s : time per output token of a finished request
e2e_seconds s : whole request
gateway_ttft_seconds s : time to first token as the gateway saw it
gateway_e2e_seconds s : whole request as the gateway saw it
gateway_upstream_seconds s : the gateway's wait for the engine
gateway_overhead_seconds s : the gateway's own work
gateway_queue_seconds s : waiting inside the gateway
gateway_tpot_seconds s : time per output token as the gateway saw it
""",
    ),
    *_signals(
        HISTOGRAM,
        ENGINE,
        """
queue_seconds s : waiting for a seat
prefill_seconds s : prefill
decode_seconds s : decode
input_length_tokens {token} : input length of finished requests
output_length_tokens {token} : output length of finished requests
step_length_tokens {token} : tokens per engine iteration
kv_transfer_latency_seconds s : one KV move
kv_transfer_size_bytes By : one KV move
""",
    ),
]

#: Every signal by name.
SIGNALS: dict[str, Signal] = {signal.name: signal for signal in _ALL}
#: Signals that have a column of their own in `engine_samples`.
SAMPLE_COLUMNS: tuple[str, ...] = tuple(name for name in ENGINE_SAMPLES.column_names() if name in SIGNALS)


def unit_of(name: str) -> str:
    """Return the unit of a signal; "1" for one that came from outside the catalog."""
    return SIGNALS[name].unit if name in SIGNALS else "1"
