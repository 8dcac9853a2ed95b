"""Dynamo's words on its frontend, router and planner pages; a gateway: it describes models served elsewhere.

Names and labels are from Dynamo 1.6.1 (prometheus_names.rs and a recorded frontend). Traps: `queued_requests` runs
from HTTP start to the first token, so it contains prefill; worker ids are decimal here and hexadecimal on a worker's
page; units are mixed (ms, us, s); the edges of every histogram can be set by environment.
"""

from __future__ import annotations

from signals.dialects.dynamo_requests import halves, line, worker_id
from signals.dialects.form import GAUGE, HISTOGRAM, Dialect, Rule

_MODEL = {"model": "model"}
_WORKER = {"worker_id": "worker", "worker_type": "worker_role"}
_F = "dynamo_frontend_"
_R = "dynamo_component_router_"
_P = "dynamo_planner_"


def _either(name: str) -> tuple[str, ...]:
    """Return the frontend's family, else that of a router that runs alone."""
    return _F + name, _R + name


RULES: tuple[Rule, ...] = (
    Rule("gateway_ttft_seconds", _either("time_to_first_token_seconds"), HISTOGRAM, by=_MODEL, expected=True),
    Rule("gateway_itl_seconds", _either("inter_token_latency_seconds"), HISTOGRAM, by=_MODEL, expected=True),
    Rule("gateway_e2e_seconds", (f"{_F}request_duration_seconds",), HISTOGRAM, by=_MODEL, expected=True),
    Rule("gateway_input_length_tokens", _either("input_sequence_tokens"), HISTOGRAM, by=_MODEL,
         sum_as="gateway_input_tokens"),
    Rule("gateway_output_length_tokens", _either("output_sequence_tokens"), HISTOGRAM, by=_MODEL),
    Rule("gateway_output_tokens", (f"{_F}output_tokens_total",), by=_MODEL, expected=True),
    Rule("gateway_cached_tokens", (f"{_F}cached_tokens_sum",), by=_MODEL),
    Rule("gateway_requests", (f"{_F}requests_total",), by={**_MODEL, "status": "status"}, expected=True),
    Rule("gateway_failures", (f"{_F}requests_total{{status=error}}",), by={**_MODEL, "error_type": "reason"}),
    Rule("gateway_rejected", (f"{_F}model_rejection_total",), by=_MODEL),
    Rule("gateway_rejected", (f"{_F}router_admission_rejected_total",), by={**_MODEL, "reason": "reason"}),
    Rule("gateway_retries", (f"{_F}model_migration_total",), by={**_MODEL, "migration_type": "kind"}),
    Rule("gateway_aborted", (f"{_F}model_cancellation_total",), by=_MODEL),
    Rule("gateway_in_flight", (f"{_F}active_requests", f"{_F}inflight_requests"), GAUGE, by=_MODEL, expected=True),
    Rule("gateway_before_first_token", (f"{_F}queued_requests",), GAUGE, by=_MODEL),
    Rule("gateway_queue_depth", (f"{_F}router_queue_pending_requests",), GAUGE,
         by={**_MODEL, "worker_type": "worker_role"}),
    Rule("gateway_queue_tokens", (f"{_F}router_queue_pending_isl_tokens",), GAUGE,
         by={**_MODEL, "worker_type": "worker_role"}),
    Rule("gateway_stage_seconds", (f"{_F}stage_duration_seconds",), HISTOGRAM, by={"stage": "stage"}),
    Rule("gateway_router_seconds", ("dynamo_router_overhead_total_ms",), HISTOGRAM, scale=1e-3,
         sum_as="gateway_router_seconds_sum", count_as="gateway_router_seconds_count"),
    Rule("gateway_worker_kv_blocks", (f"{_F}worker_active_decode_blocks",), GAUGE, by=_WORKER),
    Rule("gateway_worker_prefill_tokens", (f"{_F}worker_active_prefill_tokens",), GAUGE, by=_WORKER),
    Rule("gateway_instances_healthy", (f"{_R}worker_registered",), GAUGE),
    Rule("gateway_route_hit_tokens", (f"{_R}kv_selected_cached_prefix_tokens_total",), by=_MODEL),
    Rule("gateway_route_best_hit_tokens", (f"{_R}kv_best_eligible_cached_prefix_tokens_total",), by=_MODEL),
    Rule("gateway_adapter_requests", (f"{_F}lora_active_requests",), GAUGE, by={"lora_name": "adapter"}),
    Rule("gateway_adapter_loads", (f"{_F}lora_churn_loads_total",)),
    Rule("controller_replicas", (f"{_P}num_prefill_replicas",), GAUGE, attributes={"worker_role": "prefill"}),
    Rule("controller_replicas", (f"{_P}num_decode_replicas",), GAUGE, attributes={"worker_role": "decode"}),
    Rule("controller_proposed_replicas", (f"{_P}predicted_num_prefill_replicas",), GAUGE,
         attributes={"worker_role": "prefill"}),
    Rule("controller_proposed_replicas", (f"{_P}predicted_num_decode_replicas",), GAUGE,
         attributes={"worker_role": "decode"}),
    Rule("controller_demand", (f"{_P}observed_requests_per_second",), GAUGE, attributes={"what": "observed"}),
    Rule("controller_demand", (f"{_P}predicted_requests_per_second",), GAUGE, attributes={"what": "forecast"}),
    Rule("controller_ttft_seconds", (f"{_P}observed_ttft_ms",), GAUGE, scale=1e-3, attributes={"what": "observed"}),
    Rule("controller_ttft_seconds", (f"{_P}estimated_ttft_ms",), GAUGE, scale=1e-3, attributes={"what": "forecast"}),
    Rule("controller_ttft_seconds", (f"{_P}sla_target_ttft_ms",), GAUGE, scale=1e-3, attributes={"what": "target"}),
    Rule("controller_gpu_hours", (f"{_P}gpu_hours",), GAUGE),
)  # fmt: skip

#: Families that are known and say nothing that a canonical signal needs; a trailing * stands for any rest.
IGNORED = (
    "dynamo_tokio_*", "dynamo_transport_*", "dynamo_request_plane_*", "dynamo_router_overhead_*",
    "dynamo_router_shared_cache_errors", "dynamo_component_*", "dynamo_planner_*", "dynamo_frontend_tokenizer_*",
    "dynamo_frontend_audio_per_request", "dynamo_frontend_images_per_request", "dynamo_frontend_videos_per_request",
    "dynamo_frontend_image_tokens_per_request", "dynamo_frontend_detokenize_*", "dynamo_frontend_event_loop_*",
    "dynamo_frontend_disconnected_clients", "dynamo_frontend_model_*", "dynamo_frontend_worker_last_*",
    "dynamo_frontend_router_*", "dynamo_frontend_stage_requests", "dynamo_frontend_template_seconds",
    "dynamo_frontend_tokenize_seconds", "dynamo_frontend_requests_started", "dynamo_frontend_lora_*",
    "dynamo_frontend_failures",
)  # fmt: skip


def _attribute(name: str, value: str) -> str:
    return worker_id(value) if name == "worker" else value


DYNAMO = Dialect(
    engine="dynamo",
    title="NVIDIA Dynamo frontend, router and planner",
    prefixes=("dynamo_",),
    marks=("dynamo_frontend_", "dynamo_planner_", "dynamo_component_router_", "dynamo_router_"),
    rules=RULES,
    model_labels=("model",),
    gateway=True,
    default_role=None,
    attribute=_attribute,
    halves=halves,
    line=line,
    ignored=IGNORED,
    owners=("nvidia",),
)
