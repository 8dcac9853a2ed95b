"""TensorRT-LLM's words on its Prometheus page; its `/metrics` is a queue that reading empties, so never get that.

Names are from tensorrt_llm/metrics/collector.py (main, 2026); builds before the prefix had five bare names. Not tried
against a running server. The page needs `return_perf_metrics: true`, the gauges need iteration statistics.
"""

from __future__ import annotations

from signals.dialects.form import GAUGE, HISTOGRAM, VALUE, Dialect, Rule


def _names(*names: str) -> tuple[str, ...]:
    return tuple(f"trtllm_{name}" for name in names)


RULES: tuple[Rule, ...] = (
    Rule("queue_depth", _names("num_requests_waiting"), GAUGE, expected=True),
    Rule("queue_max", _names("num_requests_waiting"), GAUGE, over="max"),
    Rule("running", _names("num_requests_running"), GAUGE, expected=True),
    Rule("paused", _names("num_paused_requests"), GAUGE),
    Rule("kv_usage_ratio", _names("kv_cache_utilization"), GAUGE, over="mean", floor=0.0, expected=True),
    Rule("kv_usage_max_ratio", _names("kv_cache_utilization"), GAUGE, over="max", floor=0.0),
    Rule("kv_tier_usage_ratio", _names("kv_cache_host_utilization"), GAUGE, over="mean", floor=0.0,
         attributes={"tier": "host"}),
    Rule("prompt_tokens", _names("prompt_tokens"), expected=True),
    Rule("generation_tokens", _names("generation_tokens"), expected=True),
    Rule("prefix_query_tokens", _names("prompt_tokens")),
    Rule("prefix_hit_tokens", _names("prompt_cached_tokens")),
    Rule("prefix_hit_tokens_by_tier", _names("prompt_cache_hit_tokens"), by={"cache_tier": "tier"}),
    Rule("kv_offload_load_bytes", _names("kv_cache_onboard_bytes")),
    Rule("kv_offload_store_bytes", _names("kv_cache_offload_bytes")),
    Rule("finished", _names("request_success", "num_requests_completed"), expected=True),
    Rule("finished_by_reason", _names("request_success"), by={"finished_reason": "reason"}),
    Rule("finished_by_reason", _names("num_aborted_requests"), attributes={"reason": "abort"}),
    Rule("http_requests", _names("request_error"), by={"http_code": "status"}),
    Rule("spec_draft_tokens", _names("spec_decode_num_draft_tokens")),
    Rule("spec_accepted_tokens", _names("spec_decode_num_accepted_tokens")),
    Rule("spec_accepted_by_position", _names("spec_decode_accepted_tokens"), by={"token_position": "position"}),
    Rule("spec_accept_length", _names("spec_decode_acceptance_length"), GAUGE, over="mean"),
    Rule("structured_requests", _names("request_type_structured_output")),
    Rule("ttft_seconds", (*_names("time_to_first_token_seconds"), "time_to_first_token_seconds"), HISTOGRAM,
         count_as="first_tokens", expected=True),
    Rule("tpot_seconds", (*_names("time_per_output_token_seconds"), "time_per_output_token_seconds"), HISTOGRAM),
    Rule("e2e_seconds", (*_names("e2e_request_latency_seconds"), "e2e_request_latency_seconds"), HISTOGRAM,
         expected=True),
    Rule("queue_seconds", (*_names("request_queue_time_seconds"), "request_queue_time_seconds"), HISTOGRAM,
         sum_as="queue_seconds_sum"),
    Rule("prefill_seconds", _names("request_prefill_time_seconds"), HISTOGRAM, sum_as="prefill_seconds_sum"),
    Rule("decode_seconds", _names("request_decode_time_seconds"), HISTOGRAM),
    Rule("kv_transfer_latency_seconds", _names("kv_transfer_latency_seconds"), HISTOGRAM,
         sum_as="kv_transfer_seconds"),
    Rule("kv_transfer_size_bytes", _names("kv_transfer_bytes"), HISTOGRAM, sum_as="kv_transfer_bytes"),
    Rule("kv_blocks", _names("kv_cache_max_blocks"), VALUE),
    Rule("block_tokens", _names("kv_cache_tokens_per_block"), VALUE),
)  # fmt: skip

IGNORED = (
    "trtllm_max_num_active_requests", "trtllm_num_context_requests", "trtllm_num_generation_requests",
    "trtllm_num_scheduled_requests", "trtllm_kv_cache_free_blocks", "trtllm_kv_cache_used_blocks",
    "trtllm_kv_cache_reused_blocks", "trtllm_kv_cache_missed_blocks", "trtllm_kv_cache_hit_rate",
    "trtllm_kv_cache_iter_*", "trtllm_prompt_cached_tokens_per_request", "trtllm_request_inference_time_seconds",
    "trtllm_iteration_latency_seconds", "trtllm_gpu_memory_usage_bytes", "trtllm_cpu_memory_usage_bytes",
    "trtllm_pinned_memory_usage_bytes", "trtllm_model_config_info", "trtllm_parallel_config_info",
    "trtllm_speculative_config_info", "trtllm_kv_cache_config_info", "trtllm_prefill_batch_occupancy",
    "trtllm_spec_decode_drafted_tokens", "trtllm_kv_transfer_*", "trtllm_kv_event_*", "trtllm_request_type_*",
)  # fmt: skip

#: What builds before the prefix call their histograms.
_BARE = ("time_to_first_token_seconds", "e2e_request_latency_seconds", "request_queue_time_seconds")

TRTLLM = Dialect(
    engine="trtllm",
    title="TensorRT-LLM",
    prefixes=("trtllm_",),
    marks=("trtllm_", *_BARE),
    version_at=("/version", "version"),
    rules=RULES,
    ranks=("dp_rank",),
    paths=("/prometheus/metrics",),
    never_get=("/metrics",),
    ignored=IGNORED,
    tested=False,
    owners=("tensorrt_llm",),
)
