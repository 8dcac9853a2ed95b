"""The signals that planners read beyond the columns of the public views: name, unit, kind and meaning, as data.

All live in the view `signal_samples`, counters as increments. The sum and count of a histogram are the counters
`NAME_sum` and `NAME_count`. `attributes` are the ones that planners tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["SIGNALS", "PlannerSignal"]

Kind = Literal["gauge", "counter", "histogram"]


@dataclass(frozen=True, slots=True)
class PlannerSignal:
    """One canonical signal and the planners that read it."""

    name: str
    unit: str
    kind: Kind
    help: str
    planners: tuple[str, ...]
    attributes: tuple[str, ...] = ()


def _signals(planners: str, text: str) -> list[PlannerSignal]:
    """Read `name unit kind attribute,... : help` lines; `-` is no attribute."""
    found = []
    for line in text.strip().splitlines():
        head, _, meaning = line.partition(" : ")
        name, unit, kind, attributes = head.split()
        known: dict[str, Kind] = {"gauge": "gauge", "counter": "counter", "histogram": "histogram"}
        keys = () if attributes == "-" else tuple(attributes.split(","))
        found.append(PlannerSignal(name, unit, known[kind], meaning, tuple(planners.split()), keys))
    return found


SIGNALS: tuple[PlannerSignal, ...] = (
    *_signals(
        "moe_service",
        """
expert_balance_ratio 1 gauge - : mean expert load divided by the largest; 1 is balanced
expert_balance_sum 1 counter - : the same summed over steps
expert_balance_count {step} counter - : steps in that sum
""",
    ),
    *_signals(
        "moe_service kv_pool long_context",
        """
kv_bytes_per_token By gauge - : KV cache of one token over all layers
""",
    ),
    *_signals(
        "kv_pool long_context",
        """
kv_tier_read_bytes By counter tier : bytes read back from a tier
kv_tier_read_tokens {token} counter tier : tokens read back from a tier
kv_tier_read_seconds s histogram tier : one read from a tier
""",
    ),
    *_signals(
        "kv_pool",
        """
kv_tier_capacity_bytes By gauge tier : bytes that fit in a tier on one machine
""",
    ),
    *_signals(
        "gateway",
        """
gateway_retries {request} counter - : tries after the first
gateway_ejections {instance} counter - : instances taken out of rotation
gateway_health_check_seconds s gauge - : interval of active health checks
gateway_detection_seconds s gauge - : from an instance's failure to its detection
gateway_index_nodes {node} gauge - : entries of the prefix index
gateway_index_bytes By gauge - : memory of the prefix index
gateway_router_seconds s histogram - : time to choose an instance
""",
    ),
    *_signals(
        "multi_lora",
        """
adapters_registered {adapter} gauge - : adapters that may be asked for
adapters_per_batch {adapter} gauge - : distinct adapters in one step's batch
adapter_pool_bytes By gauge - : GPU memory kept for adapters
adapter_swap_bytes By counter - : adapter bytes moved to the GPU
adapter_swap_seconds s histogram - : one adapter loaded into device memory
adapter_download_bytes By counter - : adapter bytes fetched from storage
adapter_download_seconds s histogram - : one adapter fetched
""",
    ),
    *_signals(
        "rl_rollout",
        """
rollout_utilisation_ratio 1 gauge mode : share of rollout time spent generating; mode is sync or async
rollout_staleness_steps {step} gauge - : weight updates between a sample's start and its use
rollout_prompts_per_step {prompt} gauge - : prompts of one training step
rollout_samples_per_prompt {sample} gauge - : answers sampled for one prompt
train_step_seconds s histogram - : one training step
weight_sync_seconds s histogram - : one update of an instance's weights
weight_sync_bytes By counter - : bytes of those updates
rollout_scoring_seconds s histogram - : one reward computed
rollout_scoring_timeouts {request} counter - : rewards that came too late
""",
    ),
    *_signals(
        "speculation",
        """
speculation_enabled 1 gauge - : 1 while the engine drafts, 0 while it does not (the control group)
spec_draft_seconds s counter - : time in draft passes, part of the step time
""",
    ),
    *_signals(
        "structured_output",
        """
grammar_masks {mask} counter - : masks computed, one a constrained request and step
grammar_mask_seconds s counter - : time computing them
grammar_requests {request} counter - : requests with a grammar
grammar_cache_hits {request} counter - : grammars found compiled
structured_requests {request} counter - : requests with constrained output
format_error_retries {request} counter - : answers generated again because their format was wrong
""",
    ),
    *_signals(
        "autoscaling",
        """
weight_load_bytes By counter source : weights that starts loaded; source is object_store, nvme or rdma
weight_load_seconds s histogram source : one such load
startup_phase_seconds s gauge phase : a phase of a start: process_start, compile or compile_cached
instance_start_seconds s histogram - : one instance started, until it answers
""",
    ),
    *_signals(
        "multi_region",
        """
model_copy_bytes By counter - : bytes of models copied between regions
model_copy_seconds s histogram - : one such copy
region_requests {request} counter region,residency : requests by region and whether they may leave it (bound or free)
""",
    ),
)
