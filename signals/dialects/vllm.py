"""vLLM's words, V0 names to 0.33: its /metrics page and its `llm_request` spans; the model file of all dialects.

Names, labels and traps are from vLLM's own collector (vllm/v1/metrics/loggers.py and stats.py of 0.33.0, older wheels
for the renames). Traps: `iteration_tokens_total` is a histogram; `kv_cache_usage_perc` is 0..1; TTFT counts when the
first token leaves, everything else when a request finishes; aborted requests finish nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable

from signals.dialects import lmcache
from signals.dialects.form import GAUGE, HISTOGRAM, INFO, NAMES, Dialect, Rule, families, per_gpu_estimates
from signals.dialects.genai import latency_half
from signals.pages import Series
from signals.spans import RequestHalf, Span

#: The span that describes one request; start-up spans ("Load model", ...) have other names.
REQUEST_SPAN = "llm_request"

RULES: tuple[Rule, ...] = (
    Rule("queue_depth", ("vllm:num_requests_waiting",), GAUGE, expected=True),
    Rule("queue_max", ("vllm:num_requests_waiting",), GAUGE, over="max"),
    Rule("queue_depth_by_reason", ("vllm:num_requests_waiting_by_reason",), GAUGE, by={"reason": "reason"}),
    Rule("running", ("vllm:num_requests_running",), GAUGE, expected=True),
    Rule("kv_usage_ratio", ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"), GAUGE, over="mean", floor=0.0,
         expected=True),
    Rule("kv_usage_max_ratio", ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"), GAUGE, over="max",
         floor=0.0),
    Rule("preemptions", ("vllm:num_preemptions",), expected=True),
    Rule("prompt_tokens", ("vllm:prompt_tokens",), expected=True),
    Rule("generation_tokens", ("vllm:generation_tokens",), expected=True),
    Rule("prefix_query_tokens", ("vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries")),
    Rule("prefix_hit_tokens", ("vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits")),
    Rule("external_query_tokens", ("vllm:external_prefix_cache_queries",)),
    Rule("external_hit_tokens", ("vllm:external_prefix_cache_hits",)),
    Rule("prompt_tokens_by_source", ("vllm:prompt_tokens_by_source",), by={"source": "source"}),
    Rule("prefix_hit_tokens_by_tier", ("vllm:prompt_tokens_cached_by_source",), by={"source": "tier"}),
    Rule("finished", ("vllm:request_success",), expected=True),
    Rule("finished_by_reason", ("vllm:request_success",), by={"finished_reason": "reason"}),
    Rule("rejected", ("vllm:admission_rejections",)),
    Rule("spec_drafts", ("vllm:spec_decode_num_drafts",)),
    Rule("spec_draft_tokens", ("vllm:spec_decode_num_draft_tokens",)),
    Rule("spec_accepted_tokens", ("vllm:spec_decode_num_accepted_tokens",)),
    Rule("spec_accepted_by_position", ("vllm:spec_decode_num_accepted_tokens_per_pos",), by={"position": "position"}),
    Rule("ttft_seconds", ("vllm:time_to_first_token_seconds",), HISTOGRAM, count_as="first_tokens", expected=True),
    Rule("itl_seconds", ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds"), HISTOGRAM),
    Rule("tpot_seconds", ("vllm:request_time_per_output_token_seconds",), HISTOGRAM),
    Rule("e2e_seconds", ("vllm:e2e_request_latency_seconds",), HISTOGRAM, expected=True),
    Rule("queue_seconds", ("vllm:request_queue_time_seconds",), HISTOGRAM, sum_as="queue_seconds_sum"),
    Rule("prefill_seconds", ("vllm:request_prefill_time_seconds",), HISTOGRAM, sum_as="prefill_seconds_sum"),
    Rule("decode_seconds", ("vllm:request_decode_time_seconds",), HISTOGRAM),
    Rule("input_length_tokens", ("vllm:request_prompt_tokens",), HISTOGRAM),
    Rule("output_length_tokens", ("vllm:request_generation_tokens",), HISTOGRAM),
    Rule("step_length_tokens", ("vllm:iteration_tokens_total",), HISTOGRAM, sum_as="step_tokens", count_as="steps"),
    Rule("kv_transfer_latency_seconds", ("vllm:nixl_xfer_time_seconds", "vllm:mooncake_xfer_time_seconds"), HISTOGRAM,
         sum_as="kv_transfer_seconds"),
    Rule("kv_transfer_size_bytes", ("vllm:nixl_bytes_transferred", "vllm:mooncake_bytes_transferred"), HISTOGRAM,
         sum_as="kv_transfer_bytes"),
    Rule("kv_transfer_failures", ("vllm:nixl_num_failed_transfers", "vllm:mooncake_num_failed_transfers")),
    Rule("kv_leases_expired", ("vllm:nixl_num_kv_expired_reqs", "vllm:mooncake_num_kv_expired_reqs")),
    Rule("kv_offload_load_bytes", ("vllm:kv_offload_load_bytes",
         "vllm:kv_offload_total_bytes{transfer_type=CPU_to_GPU}")),
    Rule("kv_tier_read_bytes", ("vllm:kv_offload_load_bytes",
         "vllm:kv_offload_total_bytes{transfer_type=CPU_to_GPU}"), attributes={"tier": "host"}),
    Rule("kv_tier_read_seconds_sum", ("vllm:kv_offload_load_time",
         "vllm:kv_offload_total_time{transfer_type=CPU_to_GPU}"), attributes={"tier": "host"}),
    Rule("kv_offload_store_bytes", ("vllm:kv_offload_store_bytes",
         "vllm:kv_offload_total_bytes{transfer_type=GPU_to_CPU}")),
    Rule("kv_tier_usage_ratio", ("vllm:kv_offload_cpu_cache_usage_perc", "vllm:hisparse_host_cache_usage_perc"),
         GAUGE, over="mean", floor=0.0, attributes={"tier": "host"}),
    Rule("pd_queue_depth", ("vllm:num_requests_kv_fetch_by_stage",), GAUGE, by={"stage": "stage"}),
    Rule("sleeping", ("vllm:engine_sleep_state{sleep_state=weights_offloaded|discard_all}",), GAUGE, over="max",
         floor=0.0),
    Rule("weight_sync_seconds", ("vllm:rl_weight_update_operation_duration_seconds",), HISTOGRAM,
         by={"operation": "operation"}),
    Rule("http_requests", ("http_requests",), by={"status": "status"}),
    *per_gpu_estimates("vllm"),
    Rule("adapters_running", ("vllm:lora_requests_info",), NAMES, facts={"running_lora_adapters": "adapters"}),
    Rule("adapters_waiting", ("vllm:lora_requests_info",), NAMES, facts={"waiting_lora_adapters": "adapters"}),
    Rule("cache_config", ("vllm:cache_config_info",), INFO, facts={"kv_cache_size_tokens": "kv_capacity_tokens",
         "block_size": "block_tokens", "num_gpu_blocks": "kv_blocks", "cache_dtype": "kv_dtype",
         "enable_prefix_caching": "prefix_caching", "gpu_memory_utilization": "gpu_memory_utilization",
         "kv_cache_max_concurrency": "kv_max_concurrency"},
         adds=("kv_capacity_tokens", "kv_blocks", "kv_max_concurrency")),
)  # fmt: skip

#: Families that are known and say nothing that a canonical signal needs; a trailing * stands for any rest.
IGNORED = families(
    "vllm:",
    """mm_cache_queries mm_cache_hits prompt_tokens_cached request_inference_time_seconds request_params_*
    request_max_num_generation_tokens request_num_preemptions request_prefill_kv_computed_tokens kv_block_*
    corrupted_requests watermark_requests tool_call_parser_invocations websocket_* sleep_mode_operation*
    rl_weight_update_operations_in_flight diffusion_* nixl_* mooncake_* kv_offload_* simple_kv_offload_* hisparse_*
    hf3fs_* umbp_* avg_prompt_throughput_toks_per_s avg_generation_throughput_toks_per_s cpu_cache_usage_perc
    num_requests_swapped gpu_prefix_cache_hit_rate cpu_prefix_cache_* model_forward_time_milliseconds
    model_execute_time_milliseconds time_in_queue_requests spec_decode_draft_acceptance_rate spec_decode_efficiency
    spec_decode_num_emitted_tokens prompt_tokens_recomputed build_info""",
)


def halves(spans: Iterable[Span]) -> list[RequestHalf]:
    """Return an engine half for every `llm_request` span; a span without latency attributes still counts."""
    return [latency_half(span, engine="vllm", match=_match(span)) for span in spans if span.name == REQUEST_SPAN]


def _match(span: Span) -> str | None:
    """Return the id that a gateway sees as its response id: vLLM adds `-0` for the first of `n` completions."""
    request_id = span.attributes.get("gen_ai.request.id")
    return str(request_id).removesuffix("-0") if request_id else None


def _version(series: Series) -> str | None:
    return series.labels.get("version") if series.family == "vllm:build_info" else None


VLLM = Dialect(
    engine="vllm",
    title="vLLM",
    prefixes=("vllm_",),
    version_at=("/version", "version"),
    rules=(*RULES, *lmcache.RULES),
    model_labels=("model_name", "model"),
    ranks=("engine", "dp_rank"),
    repeats=lmcache.REPEATS,
    version=_version,
    halves=halves,
    ignored=(*IGNORED, *lmcache.IGNORED),
    owners=("vllm",),
)
