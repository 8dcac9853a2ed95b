"""Text Generation Inference's words, from its documentation and source (2026-01); not tried against a running server.

Traps: no model label, so the model comes from configuration; no histogram of the time to first token exists; durations
are in seconds; `tgi_batch_next_size` has a thousand buckets and is never read.
"""

from __future__ import annotations

from signals.dialects.form import GAUGE, HISTOGRAM, Dialect, Rule, families

RULES: tuple[Rule, ...] = (
    Rule("queue_depth", ("tgi_queue_size",), GAUGE, expected=True),
    Rule("queue_max", ("tgi_queue_size",), GAUGE, over="max"),
    Rule("running", ("tgi_batch_current_size",), GAUGE, expected=True),
    Rule("finished", ("tgi_request_success",), expected=True),
    Rule("finished", ("tgi_request_failure",)),
    Rule("finished_by_reason", ("tgi_request_success",), attributes={"reason": "stop"}),
    Rule("finished_by_reason", ("tgi_request_failure",), by={"err": "reason"}),
    Rule("rejected", ("tgi_request_failure{err=overloaded}",)),
    Rule("prompt_tokens", ("tgi_request_input_length_sum",)),
    Rule("generation_tokens", ("tgi_request_generated_tokens_sum",)),
    Rule("steps", ("tgi_batch_inference_count",), by={}),
    Rule("step_seconds", ("tgi_batch_forward_duration_sum",)),
    Rule("tpot_seconds", ("tgi_request_mean_time_per_token_duration",), HISTOGRAM),
    Rule("e2e_seconds", ("tgi_request_duration",), HISTOGRAM, expected=True),
    Rule("queue_seconds", ("tgi_request_queue_duration",), HISTOGRAM, sum_as="queue_seconds_sum"),
    Rule("input_length_tokens", ("tgi_request_input_length",), HISTOGRAM),
    Rule("output_length_tokens", ("tgi_request_generated_tokens",), HISTOGRAM),
)

IGNORED = families(
    "tgi_",
    """batch_* request_count request_validation_duration request_inference_duration request_max_new_tokens
    request_skipped_tokens""",
)

TGI = Dialect(
    engine="tgi",
    title="Text Generation Inference",
    prefixes=("tgi_",),
    version_at=("/info", "version"),
    rules=RULES,
    ignored=IGNORED,
    tested=False,
)
