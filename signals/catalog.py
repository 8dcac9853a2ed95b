"""Every canonical signal: name, kind, unit, layer and meaning; the one place that the documentation is made from.

Names are SQL columns or values of `signal_samples.signal`, `sloscope.<name>` on OTLP, `sloscope_<name>` on Prometheus.
"""

from __future__ import annotations

from dataclasses import dataclass

from signals.views.engines import ENGINE_SAMPLES

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
grammar_queue_depth {request} : requests waiting for their grammar to be compiled
paused {request} : requests paused by the engine, for instance while weights are synchronised
pd_queue_depth {request} : requests between prefill and decode, by stage: bootstrap, inflight, prealloc, transfer
adapters_resident {adapter} : LoRA adapters in device memory
adapter_slots {adapter} : LoRA adapters that fit
spec_draft_count {token} : tokens drafted at a time, as configured; 0 where speculation is off
spec_accept_ratio 1 : accepted tokens divided by drafted ones, as the engine last saw it
spec_accept_length {token} : tokens per verification, the engine's own bonus token included
kv_tier_used_tokens {token} : tokens held in a lower KV tier, by tier
kv_tier_used_bytes By : bytes held in a lower KV tier, by tier
kv_tier_capacity_tokens {token} : tokens that fit in a lower KV tier, by tier
kv_tier_capacity_bytes By : bytes that fit in a lower KV tier, by tier
kv_tier_usage_ratio 1 : share of a KV tier in use, by tier
kv_tier_keys {object} : objects held in a KV tier, by tier
kv_bytes_per_token By : KV cache of one token over all layers
adapters_registered {adapter} : LoRA adapters that may be asked for
adapter_pool_bytes By : device memory kept for LoRA adapters
startup_phase_seconds s : time that one phase of the engine's start took, by phase
speculation_enabled 1 : 1 while the engine drafts, 0 while it does not (the control group)
adapters_per_batch {adapter} : distinct LoRA adapters in one step's batch, mean
expert_balance_ratio 1 : mean expert load divided by the largest; 1 is balanced
sleeping 1 : 1 while the engine has given up its weights or its KV cache
rollout_utilisation_ratio 1 : share of the rollout instances' time in which they generate
rollout_staleness_steps {step} : training steps between the weights in use and the newest
rollout_prompts_per_step {prompt} : prompts of one training step
rollout_samples_per_prompt {sample} : answers sampled for one prompt
gateway_health_check_seconds s : interval of the gateway's active health checks
gateway_detection_seconds s : from an instance's failure to its detection
gateway_in_flight {request} : requests inside the gateway
gateway_deployment_state 1 : 0 healthy, 1 partial, 2 complete outage
gateway_queue_depth {request} : requests waiting in the gateway for an instance
gateway_queue_tokens {token} : their input tokens
gateway_before_first_token {request} : requests from arrival to first token, prefill included
gateway_instances_healthy {instance} : instances that the gateway can use
gateway_index_nodes {node} : entries of the gateway's prefix index
gateway_index_bytes By : memory of the gateway's prefix index
gateway_worker_requests {request} : requests that the gateway has at an instance, by worker
gateway_worker_kv_blocks {block} : KV blocks that the gateway thinks an instance uses, by worker
gateway_worker_prefill_tokens {token} : prefill tokens that the gateway thinks an instance has ahead, by worker
gateway_adapter_requests {request} : requests inside the gateway, by adapter
gateway_pool_queue_depth {request} : mean queue depth of a pool's instances as the gateway sees it, by pool
gateway_pool_running {request} : mean running requests of a pool's instances as the gateway sees it, by pool
gateway_pool_kv_usage_ratio 1 : mean KV use of a pool's instances as the gateway sees it, by pool
controller_replicas {instance} : instances that another controller counts, by role
controller_proposed_replicas {instance} : instances that another controller wants, by role
controller_demand {request}/s : requests per second that another controller saw or forecast
controller_ttft_seconds s : time to first token that another controller saw, estimates or aims at
controller_gpu_hours h : GPU time that another controller counts
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
decode_seconds_sum s : decode time of requests
prompt_tokens_by_tenant {token} : input tokens by the tenant that the engine was told
generation_tokens_by_tenant {token} : output tokens by the tenant that the engine was told
spec_drafts {step} : speculative verifications
spec_draft_tokens {token} : drafted tokens
spec_accepted_tokens {token} : drafted tokens that were accepted
spec_draft_seconds s : time in draft passes, part of the step time
spec_accepted_by_position {token} : accepted tokens by draft position
grammar_seconds s : time compiling grammars
grammar_requests {request} : requests with a grammar
grammar_cache_hits {request} : grammars found compiled
grammar_failures {request} : grammars that were given up, by reason
grammar_masks {mask} : token masks computed, one a constrained request and step
grammar_mask_seconds s : time computing token masks
format_error_retries {request} : answers generated again because their format was wrong
structured_requests {request} : requests with constrained output
estimated_flops_per_gpu {flop} : operations that the engine estimates for one GPU, mean over ranks
estimated_read_bytes_per_gpu By : bytes that the engine estimates one GPU reads from its memory, mean over ranks
estimated_write_bytes_per_gpu By : bytes that the engine estimates one GPU writes to its memory, mean over ranks
expert_balance_sum 1 : sum over steps of mean expert load divided by the largest; 1 is balanced
expert_balance_count {step} : steps in that sum
rollout_scoring_timeouts {request} : rewards that came too late, by scorer
instance_starts {instance} : instances started
adapter_loads {adapter} : LoRA adapters loaded
adapter_swap_bytes By : adapter bytes moved into device memory
adapter_swap_seconds_sum s : time of those moves
adapter_swap_seconds_count {adapter} : those moves
adapter_download_bytes By : adapter bytes fetched from storage
weight_sync_bytes By : bytes of weight updates
weight_load_bytes By : weights that starts loaded, by source: object_store, nvme or rdma
model_copy_bytes By : bytes of models copied between regions
region_requests {request} : requests by region and residency: bound to it or free to leave
adapter_evictions {adapter} : LoRA adapters unloaded to make room
worker_errors {request} : requests that failed inside a worker, by reason
kv_transfer_bytes By : KV bytes moved between instances
kv_transfer_seconds s : time of those moves
kv_transfer_failures {transfer} : moves that failed
kv_leases_expired {request} : prefilled requests whose KV was never fetched
kv_offload_load_bytes By : KV bytes read back from a lower tier
kv_offload_store_bytes By : KV bytes written to a lower tier
kv_tier_query_tokens {token} : tokens looked up in a lower KV tier, by tier
kv_tier_hit_tokens {token} : tokens found in a lower KV tier, by tier
kv_tier_hits {operation} : lookups that found something, by tier
kv_tier_evicted_bytes_by_tenant By : bytes evicted, by tenant
kv_tier_rejected_by_tenant {operation} : writes refused for a tenant's quota, by tenant
kv_tier_read_bytes By : bytes read back from a lower KV tier, by tier
kv_tier_read_seconds_sum s : time of those reads, by tier
kv_tier_read_tokens {token} : tokens read back from a lower KV tier, by tier
kv_tier_write_tokens {token} : tokens written to a lower KV tier, by tier
kv_tier_evicted_tokens {token} : tokens evicted from a KV tier, by tier
kv_tier_evicted_bytes By : bytes evicted from a KV tier, by tier
kv_tier_blocks_moved {block} : KV blocks moved between tiers, by from and to
kv_tier_failures {operation} : reads and writes of a KV tier that failed, by tier
http_requests {request} : HTTP answers by status class
gateway_input_tokens {token} : input tokens that the gateway counted
gateway_output_tokens {token} : output tokens that the gateway counted
gateway_cached_tokens {token} : cached input tokens that the gateway counted
gateway_spend_usd USD : what the gateway charged
gateway_requests {request} : gateway answers by status
gateway_failures {request} : failed gateway requests by status
gateway_upstream_failures {request} : tries that an instance failed, by status
gateway_fallbacks {request} : requests that another deployment served
gateway_retries {request} : tries after the first, by kind
gateway_rejected {request} : requests that the gateway refused, by reason
gateway_aborted {request} : requests whose client left
gateway_adapter_loads {adapter} : adapters that the gateway had loaded
gateway_ejections {instance} : instances taken out of rotation
gateway_router_seconds_sum s : time to choose instances
gateway_router_seconds_count {request} : those choices
gateway_routed {request} : requests sent to an instance, by worker and status
gateway_route_hit_tokens {token} : input tokens cached on the instance that the gateway chose
gateway_route_best_hit_tokens {token} : input tokens cached on the best instance it could have chosen
gateway_slo_violations {request} : requests that missed the target the gateway was given, by kind
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
gateway_itl_seconds s : inter-token latency as the gateway saw it
gateway_input_length_tokens {token} : input length as the gateway counted it
gateway_output_length_tokens {token} : output length as the gateway counted it
gateway_stage_seconds s : time in one stage of the gateway, by stage
gateway_router_seconds s : time to choose an instance
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
kv_tier_read_seconds s : one read from a lower KV tier, by tier
kv_tier_write_seconds s : one write to a lower KV tier, by tier
grammar_compile_seconds s : one grammar compiled
weight_sync_seconds s : one update of an instance's weights, by operation
train_step_seconds s : one training step
adapter_download_seconds s : one adapter fetched from storage
weight_load_seconds s : one load of weights at a start, by source
model_copy_seconds s : one copy of a model between regions
rollout_scoring_seconds s : one reward computed, by scorer
instance_start_seconds s : one instance started, until it answers
adapter_swap_seconds s : one adapter loaded into device memory
""",
    ),
]

#: Every signal by name.
SIGNALS: dict[str, Signal] = {signal.name: signal for signal in _ALL}
#: Signals that have a column of their own in `engine_samples`.
SAMPLE_COLUMNS: tuple[str, ...] = tuple(name for name in ENGINE_SAMPLES.column_names() if name in SIGNALS)


def kind_of(name: str) -> str | None:
    """Return the kind of a signal, None for one from outside; a histogram's `_sum` and `_count` are counters."""
    if name in SIGNALS:
        return SIGNALS[name].kind
    return COUNTER if _histogram_of(name) is not None else None


def unit_of(name: str) -> str:
    """Return the unit of a signal; "1" for counts of a histogram and for what came from outside the catalog."""
    if name in SIGNALS:
        return SIGNALS[name].unit
    histogram = _histogram_of(name)
    return histogram.unit if histogram is not None and name.endswith("_sum") else "1"


def _histogram_of(part: str) -> Signal | None:
    signal = SIGNALS.get(part.removesuffix("_sum").removesuffix("_count"))
    return signal if signal is not None and signal.kind == HISTOGRAM and signal.name != part else None
