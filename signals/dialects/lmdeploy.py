"""LMDeploy's words on its /metrics page; much like vLLM's, with counts that are typed gauge.

Names are from LMDeploy 0.18.0's own collector and a page it generated. Traps: `iteration_tokens_total` is a histogram;
`num_requests_succeeded` and `num_requests_failed` are gauges that only grow; `iter_token_latency` is in seconds;
finish reasons print their enumeration (`RS.FINISH`).
"""

from __future__ import annotations

from signals.dialects.form import GAUGE, HISTOGRAM, Dialect, Rule, families

_KV = ("lmdeploy:gpu_cache_usage_perc",)

RULES: tuple[Rule, ...] = (
    Rule("queue_depth", ("lmdeploy:num_requests_waiting",), GAUGE, expected=True),
    Rule("queue_depth", ("lmdeploy:num_api_requests_waiting",), GAUGE),
    Rule("queue_max", ("lmdeploy:num_requests_waiting",), GAUGE, over="max"),
    Rule("queue_depth_by_reason", ("lmdeploy:num_requests_waiting",), GAUGE, attributes={"reason": "engine"}),
    Rule("queue_depth_by_reason", ("lmdeploy:num_api_requests_waiting",), GAUGE, attributes={"reason": "handle"}),
    Rule("running", ("lmdeploy:num_requests_running",), GAUGE, expected=True),
    Rule("kv_usage_ratio", _KV, GAUGE, over="mean", floor=0.0, expected=True),
    Rule("kv_usage_max_ratio", _KV, GAUGE, over="max", floor=0.0),
    Rule("prompt_tokens", ("lmdeploy:prompt_tokens_total",), expected=True),
    Rule("generation_tokens", ("lmdeploy:generation_tokens_total",), expected=True),
    Rule("prefix_query_tokens", ("lmdeploy:prompt_tokens_total",)),
    Rule("prefix_hit_tokens", ("lmdeploy:cached_tokens_total",)),
    Rule("finished", ("lmdeploy:request_success_total",), expected=True),
    Rule("finished_by_reason", ("lmdeploy:request_success_total",), by={"finished_reason": "reason"}),
    Rule("spec_drafts", ("lmdeploy:spec_decode_num_drafts_total",)),
    Rule("spec_draft_tokens", ("lmdeploy:spec_decode_num_draft_tokens_total",)),
    Rule("spec_accepted_tokens", ("lmdeploy:spec_decode_num_accepted_tokens_total",)),
    Rule("spec_accepted_by_position", ("lmdeploy:spec_decode_num_accepted_tokens_per_pos_total",),
         by={"position": "position"}),
    Rule("spec_accept_ratio", ("lmdeploy:spec_decode_mean_accept_rate",), GAUGE, over="mean", floor=0.0),
    Rule("spec_accept_length", ("lmdeploy:spec_decode_mean_accept_length",), GAUGE, over="mean", floor=0.0),
    Rule("ttft_seconds", ("lmdeploy:time_to_first_token_seconds",), HISTOGRAM, count_as="first_tokens", expected=True),
    Rule("itl_seconds", ("lmdeploy:iter_token_latency",), HISTOGRAM),
    Rule("tpot_seconds", ("lmdeploy:time_per_output_token_seconds",), HISTOGRAM),
    Rule("e2e_seconds", ("lmdeploy:e2e_request_latency_seconds",), HISTOGRAM, expected=True),
    Rule("queue_seconds", ("lmdeploy:request_queue_time_seconds",), HISTOGRAM, sum_as="queue_seconds_sum"),
    Rule("prefill_seconds", ("lmdeploy:request_prefill_time_seconds",), HISTOGRAM, sum_as="prefill_seconds_sum"),
    Rule("decode_seconds", ("lmdeploy:request_decode_time_seconds",), HISTOGRAM, sum_as="decode_seconds_sum"),
    Rule("input_length_tokens", ("lmdeploy:request_prompt_tokens",), HISTOGRAM),
    Rule("output_length_tokens", ("lmdeploy:request_generation_tokens",), HISTOGRAM),
    Rule("step_length_tokens", ("lmdeploy:iteration_tokens_total",), HISTOGRAM, sum_as="step_tokens", count_as="steps"),
)  # fmt: skip

IGNORED = families(
    "lmdeploy:",
    """backend_config_info num_requests_succeeded num_requests_failed num_api_requests_routed prefix_cache_hit_rate
    spec_decode_per_position_accept_rate request_cached_tokens request_cache_hit_ratio
    request_inference_time_seconds""",
)

_REASONS = {"RS.FINISH": "stop", "RS.CANCEL": "abort"}


def _attribute(name: str, value: str) -> str:
    return _REASONS.get(value, value.removeprefix("RS.").lower()) if name == "reason" else value


LMDEPLOY = Dialect(
    engine="lmdeploy",
    title="LMDeploy",
    prefixes=("lmdeploy_",),
    rules=RULES,
    ranks=("engine",),
    attribute=_attribute,
    ignored=IGNORED,
    owners=("lmdeploy",),
)
