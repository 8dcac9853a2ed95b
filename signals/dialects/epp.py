"""The words of llm-d's endpoint picker (EPP), new names and the four older sets it still repeats; each counted once.

Names are from llm-d-router (2026-08) and its own golden page. Traps: a page carries `llm_d_epp_*` beside
`inference_objective_*`, `inference_pool_*`, `inference_extension_*` and `inference_model_*` with the same counts; the
fairness id is the tenant where the client sent one; pool gauges are means over a pool's endpoints.
"""

from __future__ import annotations

from signals.dialects.form import GAUGE, HISTOGRAM, Dialect, Rule, families

_BY = {"fairness_id": "tenant", "model_name": "requested_model", "target_model_name": "model"}
_FLOW = {"fairness_id": "tenant", "priority": "priority"}
_POOL = {"name": "pool"}
_E, _OBJECTIVE, _POOLS = "llm_d_epp_", "inference_objective_", "inference_pool_"
_EXTENSION, _MODEL = "inference_extension_", "inference_model_"

RULES: tuple[Rule, ...] = (
    Rule("gateway_ttft_seconds",
         (f"{_E}request_ttft_seconds", f"{_OBJECTIVE}request_ttft_seconds", f"{_MODEL}request_ttft_seconds"),
         HISTOGRAM, by=_BY),
    Rule("gateway_e2e_seconds",
         (f"{_E}request_duration_seconds", f"{_OBJECTIVE}request_duration_seconds",
          f"{_MODEL}request_duration_seconds"), HISTOGRAM, by=_BY, expected=True),
    Rule("gateway_tpot_seconds",
         (f"{_E}request_streaming_tpot_seconds", f"{_OBJECTIVE}request_tpot_seconds",
          f"{_MODEL}request_tpot_seconds"), HISTOGRAM, by=_BY),
    Rule("gateway_itl_seconds", (f"{_E}request_streaming_itl_seconds",), HISTOGRAM, by=_BY),
    Rule("gateway_queue_seconds",
         (f"{_E}flow_control_request_queue_duration_seconds",
          f"{_EXTENSION}flow_control_request_queue_duration_seconds"), HISTOGRAM, by={**_FLOW, "outcome": "outcome"}),
    Rule("gateway_router_seconds",
         (f"{_E}scheduler_e2e_duration_seconds", f"{_EXTENSION}scheduler_e2e_duration_seconds"), HISTOGRAM,
         sum_as="gateway_router_seconds_sum", count_as="gateway_router_seconds_count"),
    Rule("gateway_input_length_tokens", (f"{_E}request_input_tokens", f"{_OBJECTIVE}input_tokens"), HISTOGRAM, by=_BY,
         sum_as="gateway_input_tokens"),
    Rule("gateway_output_length_tokens", (f"{_E}request_output_tokens", f"{_OBJECTIVE}output_tokens"), HISTOGRAM,
         by=_BY, sum_as="gateway_output_tokens"),
    Rule("gateway_cached_tokens", (f"{_E}request_cached_tokens_sum", f"{_OBJECTIVE}request_cached_tokens_sum"), by=_BY),
    Rule("gateway_requests", (f"{_E}request_total", f"{_OBJECTIVE}request_total", f"{_MODEL}request_total"), by=_BY,
         expected=True),
    Rule("gateway_failures", (f"{_E}request_error_total", f"{_OBJECTIVE}request_error_total"),
         by={**_BY, "error_code": "status"}),
    Rule("gateway_slo_violations", (f"{_E}request_slo_violation_total", f"{_OBJECTIVE}request_slo_violation_total"),
         by={**_BY, "type": "kind"}),
    Rule("gateway_in_flight", (f"{_E}request_running", f"{_OBJECTIVE}running_requests"), GAUGE, by=_BY),
    Rule("gateway_queue_depth", (f"{_E}flow_control_queue_size", f"{_EXTENSION}flow_control_queue_size"), GAUGE,
         by=_FLOW),
    Rule("gateway_instances_healthy", (f"{_E}ready_endpoints", f"{_POOLS}ready_pods"), GAUGE, by=_POOL),
    Rule("gateway_pool_queue_depth", (f"{_E}average_queue_size", f"{_POOLS}average_queue_size"), GAUGE, by=_POOL,
         over="mean", expected=True),
    Rule("gateway_pool_running", (f"{_E}average_running_requests", f"{_POOLS}average_running_requests"), GAUGE,
         by=_POOL, over="mean"),
    Rule("gateway_pool_kv_usage_ratio", (f"{_E}average_kv_cache_utilization", f"{_POOLS}average_kv_cache_utilization"),
         GAUGE, by=_POOL, over="mean", floor=0.0, expected=True),
    Rule("gateway_index_nodes", (f"{_E}prefix_indexer_size", f"{_EXTENSION}prefix_indexer_size"), GAUGE),
    Rule("gateway_retries", (f"{_E}flow_control_revocations_total",), attributes={"kind": "revocation"}),
    Rule("gateway_routed", (f"{_E}scheduler_attempts_total", f"{_EXTENSION}scheduler_attempts_total"),
         by={"endpoint_name": "worker", "pod_name": "worker", "status": "status"}),
)  # fmt: skip

IGNORED = (
    *families(_E, """flow_control_* plugin_* prefix_indexer_* std_dev_* request_ntpot_seconds response_* disagg_*
        request_processing_duration_seconds request_size_bytes request_predicted_* per_endpoint_queue_size"""),
    *families(_OBJECTIVE, "normalized_time_per_output_token_seconds request_sizes response_sizes"),
    *families(_EXTENSION, "flow_control_* plugin_* prefix_indexer_* info"),
    *families(_POOLS, "per_pod_queue_size"),
)  # fmt: skip

#: Names that the picker gives where nobody sent one.
_NO_TENANT = frozenset({"default-fairness", "default"})


def _attribute(name: str, value: str) -> str:
    return "" if name == "tenant" and value in _NO_TENANT else value


EPP = Dialect(
    engine="epp",
    title="llm-d endpoint picker",
    prefixes=(_E, _OBJECTIVE, _POOLS, _EXTENSION, _MODEL),
    rules=RULES,
    model_labels=("target_model_name",),
    gateway=True,
    default_role=None,
    attribute=_attribute,
    ignored=IGNORED,
)
