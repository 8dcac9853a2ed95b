"""Ray Serve's words: deployments, replicas, their queues and start-up; a gateway in front of engines.

From a recorded Ray 2.60 page. Traps: histograms are in milliseconds; ten labels of Ray's own (Component, WorkerId,
SessionName, ...) split every series and say nothing here; an engine inside a replica is on the same page as
`ray_vllm_*`, which vLLM's dialect reads.
"""

from __future__ import annotations

from signals.dialects.form import GAUGE, HISTOGRAM, Dialect, Rule, families
from signals.pages import Series

_DEPLOYMENT = {"application": "application", "deployment": "deployment"}
_ROUTE = {"application": "application", "route": "route"}
_MS = 1e-3
_S = "ray_serve_"

RULES: tuple[Rule, ...] = (
    Rule("gateway_queue_depth", (f"{_S}deployment_queued_queries",), GAUGE, by=_DEPLOYMENT, expected=True),
    Rule("gateway_in_flight", (f"{_S}replica_processing_queries",), GAUGE, by=_DEPLOYMENT, expected=True),
    Rule("gateway_instances_healthy", (f"{_S}deployment_replica_healthy",), GAUGE, by=_DEPLOYMENT),
    Rule("controller_proposed_replicas", (f"{_S}autoscaling_target_replicas",), GAUGE, by=_DEPLOYMENT),
    Rule("gateway_e2e_seconds", (f"{_S}http_request_latency_ms",), HISTOGRAM, by=_ROUTE, scale=_MS, expected=True),
    Rule("gateway_upstream_seconds", (f"{_S}deployment_processing_latency_ms",), HISTOGRAM, by=_DEPLOYMENT, scale=_MS),
    Rule("gateway_router_seconds", (f"{_S}request_router_fulfillment_time_ms",), HISTOGRAM, by=_DEPLOYMENT, scale=_MS),
    Rule("gateway_requests", (f"{_S}num_http_requests_total",), by={**_ROUTE, "status_code": "status"}, expected=True),
    Rule("gateway_failures", (f"{_S}num_http_error_requests_total",), by={**_ROUTE, "error_code": "status"}),
    Rule("gateway_upstream_failures", (f"{_S}deployment_error_counter_total",),
         by={**_DEPLOYMENT, "exception_type": "status"}),
    Rule("instance_starts", (f"{_S}deployment_replica_starts_total",), by=_DEPLOYMENT),
    Rule("instance_start_seconds", (f"{_S}replica_startup_latency_ms",), HISTOGRAM, by=_DEPLOYMENT, scale=_MS),
    Rule("adapters_resident", (f"{_S}num_multiplexed_models",), GAUGE),
    Rule("adapter_loads", (f"{_S}multiplexed_models_load_counter_total",)),
    Rule("adapter_evictions", (f"{_S}multiplexed_models_unload_counter_total",)),
    Rule("adapter_swap_seconds", (f"{_S}multiplexed_model_load_latency_ms",), HISTOGRAM, scale=_MS,
         sum_as="adapter_swap_seconds_sum", count_as="adapter_swap_seconds_count"),
)  # fmt: skip

IGNORED = families(
    _S,
    """health_check_latency_ms replica_initialization_latency_ms event_loop_* long_poll_* router_args_*
    multiplexed_model_unload_latency_ms multiplexed_get_model_requests_counter registered_multiplexed_model_id
    proxy_status controller_* deployment_status application_status num_scheduling_tasks* handle_request_counter
    num_ongoing_* reserved_slots_active num_deployment_http_error_requests num_router_requests
    request_router_queue_len deployment_request_counter""",
)


def _version(series: Series) -> str | None:
    return series.labels.get("Version") if series.family.startswith(_S) else None


RAY_SERVE = Dialect(
    engine="ray_serve",
    title="Ray Serve",
    prefixes=("ray_serve_",),
    rules=RULES,
    gateway=True,
    default_role=None,
    version=_version,
    ignored=IGNORED,
)
