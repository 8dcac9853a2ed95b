"""llama.cpp's words on its server's /metrics page: no labels, no histograms; the model comes from configuration.

From a recorded server of 2026 and a page of 2025. Traps: `prompt_tokens_total` leaves out cached tokens, unlike every
other engine, so both counters are added; `prompt_tokens_seconds` and `predicted_tokens_seconds` are rates that reset
on every scrape; `n_busy_slots_per_decode` and `n_tokens_max` are typed counter and are none. No percentile of any
latency can be had from this page: use a gateway.
"""

from __future__ import annotations

from signals.dialects.form import GAUGE, Dialect, Rule

_COMPUTED, _CACHED = ("llamacpp:prompt_tokens_total",), ("llamacpp:prompt_tokens_cached_total",)

RULES: tuple[Rule, ...] = (
    Rule("queue_depth", ("llamacpp:requests_deferred",), GAUGE, expected=True),
    Rule("queue_max", ("llamacpp:requests_deferred",), GAUGE, over="max"),
    Rule("running", ("llamacpp:requests_processing",), GAUGE, expected=True),
    Rule("kv_usage_ratio", ("llamacpp:kv_cache_usage_ratio",), GAUGE, over="mean", floor=0.0),
    Rule("kv_usage_max_ratio", ("llamacpp:kv_cache_usage_ratio",), GAUGE, over="max", floor=0.0),
    Rule("prompt_tokens", _COMPUTED, expected=True),
    Rule("prompt_tokens", _CACHED),
    Rule("prefix_query_tokens", _COMPUTED),
    Rule("prefix_query_tokens", _CACHED),
    Rule("prefix_hit_tokens", _CACHED),
    Rule("generation_tokens", ("llamacpp:tokens_predicted_total",), expected=True),
    Rule("step_tokens", _COMPUTED),
    Rule("step_tokens", ("llamacpp:tokens_predicted_total",)),
    Rule("steps", ("llamacpp:n_decode_total",)),
    Rule("prefill_seconds_sum", ("llamacpp:prompt_seconds_total",)),
    Rule("decode_seconds_sum", ("llamacpp:tokens_predicted_seconds_total",)),
    Rule("spec_drafts", ("llamacpp:spec_decode_num_drafts_total",)),
    Rule("spec_draft_tokens", ("llamacpp:spec_decode_num_draft_tokens_total",)),
    Rule("spec_accepted_tokens", ("llamacpp:spec_decode_num_accepted_tokens_total",)),
)

IGNORED = (
    "llamacpp:n_busy_slots_per_decode", "llamacpp:n_tokens_max", "llamacpp:n_past_max", "llamacpp:kv_cache_tokens",
    "llamacpp:prompt_tokens_seconds", "llamacpp:predicted_tokens_seconds",
)  # fmt: skip

LLAMACPP = Dialect(
    engine="llamacpp",
    title="llama.cpp server",
    prefixes=("llamacpp_",),
    version_at=("/props", "build_info"),
    rules=RULES,
    ignored=IGNORED,
    owners=("llamacpp",),
)
