"""Triton's words, with the TensorRT-LLM backend's where it runs one: counters in microseconds, most latencies as sums.

Names are from Triton core (2026) and the backend's documentation, whose sample page the tests read. Traps: an ensemble
counts a request again under each member model, so where the backend's own families stand on the page only its model is
read; summaries carry quantiles that cannot be merged and are left out; the first-response histogram is off by default.
"""

from __future__ import annotations

from signals.dialects.form import GAUGE, HISTOGRAM, VALUE, Dialect, Rule, families

_REQUESTS, _BLOCKS = "nv_trt_llm_request_metrics", "nv_trt_llm_kv_cache_block_metrics"
_FRACTION = (f"{_BLOCKS}{{kv_cache_block_type=fraction}}",)
_WAITING = (f"{_REQUESTS}{{request_type=waiting}}", "nv_inference_pending_request_count")
_US, _MS = 1e-6, 1e-3

RULES: tuple[Rule, ...] = (
    Rule("queue_depth", _WAITING, GAUGE, expected=True),
    Rule("queue_max", _WAITING, GAUGE, over="max"),
    Rule("running", (f"{_REQUESTS}{{request_type=scheduled}}",), GAUGE),
    Rule("kv_usage_ratio", _FRACTION, GAUGE, over="mean", floor=0.0),
    Rule("kv_usage_max_ratio", _FRACTION, GAUGE, over="max", floor=0.0),
    Rule("finished", ("nv_inference_request_success",), expected=True),
    Rule("finished", ("nv_inference_request_failure",)),
    Rule("finished_by_reason", ("nv_inference_request_success",), attributes={"reason": "stop"}),
    Rule("finished_by_reason", ("nv_inference_request_failure",), attributes={"reason": "error"}),
    Rule("queue_seconds_sum", ("nv_inference_queue_duration_us",), scale=_US),
    Rule("step_seconds", ("nv_inference_compute_infer_duration_us",), scale=_US),
    Rule("steps", ("nv_inference_exec_count",)),
    Rule("ttft_seconds", ("nv_inference_first_response_histogram_ms",), HISTOGRAM, scale=_MS,
         count_as="first_tokens"),
    Rule("kv_blocks", (f"{_BLOCKS}{{kv_cache_block_type=max}}",), VALUE),
    Rule("block_tokens", (f"{_BLOCKS}{{kv_cache_block_type=tokens_per}}",), VALUE),
    Rule("max_running", (f"{_REQUESTS}{{request_type=max}}",), VALUE),
)  # fmt: skip

IGNORED = families(
    "nv_",
    """trt_llm_* inference_count inference_request_duration_us inference_request_summary_us
    inference_queue_summary_us inference_compute_* inference_first_response_* gpu_* cpu_* energy_* power_* cache_*
    model_* pinned_memory_*""",
)

TRITON = Dialect(
    engine="triton",
    title="Triton Inference Server",
    prefixes=("nv_",),
    rules=RULES,
    model_labels=("model",),
    model_families=("nv_trt_llm_",),
    ignored=IGNORED,
)
