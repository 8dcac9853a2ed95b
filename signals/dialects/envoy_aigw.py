"""The words of Envoy AI Gateway: OpenTelemetry's GenAI metrics on a Prometheus page; any proxy that follows them too.

Names are from its source (2026-08) and the GenAI conventions, which are still in development. Not tried against a
running gateway. Traps: units may or may not end the names; the token histogram counts by type, and cached input is
part of input; latencies to the first token are of streams only.
"""

from __future__ import annotations

from signals.dialects.form import HISTOGRAM, Dialect, Rule

_BY = {
    "gen_ai_original_model": "requested_model",
    "gen_ai_request_model": "model",
    "gen_ai_response_model": "model",
}
_TYPE = "gen_ai_token_type"


def _seconds(name: str) -> tuple[str, ...]:
    return (f"gen_ai_server_{name}_seconds", f"gen_ai_server_{name}")


def _tokens(which: str, part: str = "") -> tuple[str, ...]:
    return tuple(f"gen_ai_client_token_usage{unit}{part}{{{_TYPE}={which}}}" for unit in ("", "_token"))


RULES: tuple[Rule, ...] = (
    Rule("gateway_ttft_seconds", _seconds("time_to_first_token"), HISTOGRAM, by=_BY),
    Rule("gateway_tpot_seconds", _seconds("time_per_output_token"), HISTOGRAM, by=_BY),
    Rule("gateway_e2e_seconds", _seconds("request_duration"), HISTOGRAM, by=_BY, expected=True),
    Rule("gateway_input_length_tokens", _tokens("input"), HISTOGRAM, by=_BY, sum_as="gateway_input_tokens"),
    Rule("gateway_output_length_tokens", _tokens("output"), HISTOGRAM, by=_BY, sum_as="gateway_output_tokens"),
    Rule("gateway_cached_tokens", _tokens("cached_input", "_sum"), by=_BY),
    Rule("gateway_requests", tuple(f"{name}_count" for name in _seconds("request_duration")), by=_BY),
    Rule("gateway_failures", tuple(f"{name}_count{{error_type=*}}" for name in _seconds("request_duration")),
         by={**_BY, "error_type": "reason"}),
)  # fmt: skip

ENVOY_AIGW = Dialect(
    engine="envoy_aigw",
    title="Envoy AI Gateway",
    prefixes=("gen_ai_",),
    rules=RULES,
    model_labels=("gen_ai_response_model",),
    gateway=True,
    default_role=None,
    ignored=("gen_ai_*",),
    tested=False,
)
