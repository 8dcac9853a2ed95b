"""The words of SGLang's model gateway, `smg_*` and the older `sgl_router_*`, from its documentation and source (2026).

Not tried against a running gateway. Traps: times to first token and per output token exist in gRPC mode only; under a
prefill/decode split a retry counts under both.
"""

from __future__ import annotations

from signals.dialects.form import GAUGE, HISTOGRAM, Dialect, Rule

_MODEL = {"model": "model", "model_id": "model"}
_WORKER = {"worker": "worker", "worker_id": "worker", "worker_url": "worker"}
_TOKENS = "smg_router_tokens_total"


def _tokens(which: str) -> tuple[str, ...]:
    return tuple(f"{_TOKENS}{{{label}={which}}}" for label in ("token_type", "direction", "type"))


RULES: tuple[Rule, ...] = (
    Rule("gateway_ttft_seconds", ("smg_router_ttft_seconds",), HISTOGRAM, by=_MODEL),
    Rule("gateway_tpot_seconds", ("smg_router_tpot_seconds",), HISTOGRAM, by=_MODEL),
    Rule("gateway_e2e_seconds", ("smg_router_request_duration_seconds", "sgl_router_request_duration_seconds"),
         HISTOGRAM, by=_MODEL, expected=True),
    Rule("gateway_stage_seconds", ("smg_router_stage_duration_seconds",), HISTOGRAM, by={"stage": "stage"}),
    Rule("gateway_input_tokens", _tokens("input"), by=_MODEL),
    Rule("gateway_output_tokens", _tokens("output"), by=_MODEL),
    Rule("gateway_requests", ("smg_router_requests_total", "sgl_router_requests_total"), by=_MODEL, expected=True),
    Rule("gateway_failures", ("smg_router_request_errors_total", "sgl_router_request_errors_total"),
         by={**_MODEL, "error_type": "reason"}),
    Rule("http_requests", ("smg_http_responses_total",), by={"status_code": "status", "status": "status"}),
    Rule("gateway_rejected", ("smg_http_rate_limit_total{decision=rejected}",), attributes={"reason": "rate_limit"}),
    Rule("gateway_retries", ("smg_worker_retries_total", "sgl_router_retries_total"),
         by={"worker_type": "worker_role"}),
    Rule("gateway_in_flight", ("smg_worker_requests_active", "sgl_router_running_requests"), GAUGE),
    Rule("gateway_worker_requests", ("smg_worker_requests_active", "sgl_router_running_requests"), GAUGE, by=_WORKER),
    Rule("gateway_instances_healthy", ("smg_worker_health", "sgl_router_active_workers"), GAUGE),
    Rule("gateway_routed", ("smg_worker_selection_total", "sgl_router_processed_requests_total"), by=_WORKER),
)  # fmt: skip


def _attribute(name: str, value: str) -> str:
    """Write HTTP codes by class, as vLLM's page does."""
    return f"{value[0]}xx" if name == "status" and value[:1].isdigit() else value


SMG = Dialect(
    engine="smg",
    title="SGLang model gateway",
    prefixes=("smg_", "sgl_router_"),
    rules=RULES,
    model_labels=("model",),
    gateway=True,
    default_role=None,
    attribute=_attribute,
    ignored=("smg_*", "sgl_router_*"),
    tested=False,
)
