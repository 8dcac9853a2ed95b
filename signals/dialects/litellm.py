"""LiteLLM's words on the proxy's page, labelled by tenant and length; never keeps e-mails, addresses or key hashes.

From recorded pages of LiteLLM 1.108 and 1.110. Traps: `/metrics` redirects to `/metrics/` and may want a bearer token;
`None` and empty labels mean "no value"; series vanish an hour after their last use and come back from zero; requests
of the proxy's own pages count as requests too, without a model; streaming completions without `include_usage` move no
token counter.
"""

from __future__ import annotations

from signals.dialects.form import COUNTER, GAUGE, HISTOGRAM, Dialect, Rule, families
from signals.dialects.litellm_requests import halves, line

_TENANT = {
    "team_alias": "tenant",
    "team": "tenant_id",
    "requested_model": "requested_model",
    "model": "model",
    "input_sequence_length": "length_bucket",
}

RULES: tuple[Rule, ...] = (
    Rule(
        "gateway_ttft_seconds",
        ("litellm_llm_api_time_to_first_token_metric",),
        HISTOGRAM,
        by=_TENANT,
        expected=True,
    ),
    Rule("gateway_e2e_seconds", ("litellm_request_total_latency_metric",), HISTOGRAM, by=_TENANT, expected=True),
    Rule("gateway_upstream_seconds", ("litellm_llm_api_latency_metric",), HISTOGRAM, by=_TENANT),
    Rule("gateway_overhead_seconds", ("litellm_overhead_latency_metric",), HISTOGRAM, by=_TENANT),
    Rule("gateway_queue_seconds", ("litellm_request_queue_time_seconds",), HISTOGRAM, by=_TENANT),
    Rule("gateway_tpot_seconds", ("litellm_deployment_latency_per_output_token",), HISTOGRAM, by=_TENANT),
    Rule("gateway_input_tokens", ("litellm_input_tokens_metric",), COUNTER, by=_TENANT, expected=True),
    Rule("gateway_output_tokens", ("litellm_output_tokens_metric",), COUNTER, by=_TENANT, expected=True),
    Rule("gateway_cached_tokens", ("litellm_input_cached_tokens_metric",), COUNTER, by=_TENANT),
    Rule("gateway_spend_usd", ("litellm_spend_metric",), COUNTER, by=_TENANT),
    Rule(
        "gateway_requests",
        ("litellm_proxy_total_requests_metric{requested_model=*}",),
        COUNTER,
        by={**_TENANT, "status_code": "status"},
        expected=True,
    ),
    Rule(
        "gateway_failures",
        ("litellm_proxy_failed_requests_metric{requested_model=*}",),
        COUNTER,
        by={**_TENANT, "exception_status": "status"},
    ),
    Rule("gateway_fallbacks", ("litellm_deployment_successful_fallbacks",), COUNTER, by={"requested_model": "model"}),
    Rule(
        "gateway_upstream_failures",
        ("litellm_deployment_failure_responses",),
        COUNTER,
        by={"litellm_model_name": "model", "exception_status": "status"},
    ),
    Rule("gateway_in_flight", ("litellm_in_flight_requests",), GAUGE),
    Rule(
        "gateway_deployment_state", ("litellm_deployment_state",), GAUGE, by={"litellm_model_name": "model"}, over="max"
    ),
)

#: Labels that name a person or a secret: they stay out of everything that is kept.
PRIVATE = ("user_email", "client_ip", "hashed_api_key", "api_key_alias", "end_user", "user", "user_agent")

IGNORED = families(
    "litellm_",
    """total_tokens_metric requests_metric active_users total_users cache_misses_metric cache_hits_metric
    callback_logging_failures_metric check_batch_cost_* deployment_success_responses deployment_total_requests
    provider_cache_read_input_tokens_metric remaining_* teams_count llm_api_failed_requests_metric
    overhead_with_guardrails_latency_metric""",
)


LITELLM = Dialect(
    engine="litellm",
    title="LiteLLM proxy",
    prefixes=("litellm_",),
    version_at=("/health/readiness", "litellm_version"),
    rules=RULES,
    model_labels=("model",),
    gateway=True,
    default_role=None,
    halves=halves,
    line=line,
    paths=("/metrics/", "/metrics"),
    ignored=IGNORED,
    private=PRIVATE,
)
