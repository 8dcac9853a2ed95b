"""The registry of root causes: one file each on one form; to add one, copy the nearest and add a line here."""

from __future__ import annotations

from analytics.rootcause.causes import (
    acceptance_drop,
    adapter_swap,
    admission_blocked,
    cache_tier_slow,
    config_regression,
    engine_pause,
    fewer_instances,
    gateway_overhead,
    gpu_fault,
    gpu_throttle,
    grammar_cpu,
    kv_transfer_stall,
    long_requests,
    measurement_artefact,
    noisy_neighbour,
    output_tail,
    preemption,
    prefix_miss,
    region_loss,
    release_regression,
    routing_hotspot,
    slow_prefill,
    slow_scoring,
    slow_start,
    speculation_overhead,
    traffic_spike,
)
from analytics.rootcause.form import Cause

__all__ = ["CAUSES"]

#: Every root cause by id, in the order of the contract.
CAUSES: dict[str, Cause] = {
    module.CAUSE.id: module.CAUSE
    for module in (
        traffic_spike,
        fewer_instances,
        slow_start,
        routing_hotspot,
        long_requests,
        prefix_miss,
        preemption,
        admission_blocked,
        slow_prefill,
        release_regression,
        config_regression,
        noisy_neighbour,
        gpu_throttle,
        gpu_fault,
        grammar_cpu,
        adapter_swap,
        speculation_overhead,
        acceptance_drop,
        kv_transfer_stall,
        cache_tier_slow,
        gateway_overhead,
        engine_pause,
        region_loss,
        slow_scoring,
        output_tail,
        measurement_artefact,
    )
}
