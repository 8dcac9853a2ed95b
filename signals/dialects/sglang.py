"""SGLang's words, 0.4 to 0.5.23: unified, prefill and decode pages, request spans and request-metrics lines.

Names, labels and traps are from SGLang's own collector (srt/observability/metrics_collector.py of 0.5.23, older wheels
for the renames). Traps: with metrics on all schedulers every tensor-parallel rank repeats the same counts; under
priority scheduling the total is the series with an empty priority; `cached_tokens` is either split by source or one
`total`; `spec_num_draft_tokens` is a setting, not a counter; KV transfers are in milliseconds and megabytes.
"""

from __future__ import annotations

from signals.dialects.form import GAUGE, HISTOGRAM, VALUE, Dialect, Rule, families, per_gpu_estimates
from signals.dialects.sglang_requests import halves, line
from signals.pages import Series

#: The total of a scheduler gauge under priority scheduling.
_TOTAL = {"priority": ("",)}
_HITS = "sglang:prefill_effective_tokens{mode=device_hit|host_hit|storage_hit}"
#: Megabytes of `kv_transfer_total_mb`; the source divides by 2^20.
_MB = 1_048_576.0
_HOST, _STORAGE, _DEVICE = {"tier": "host"}, {"tier": "storage"}, {"tier": "device"}


def _gauge(signal: str, *raw: str, over: str = "sum", **more: str) -> Rule:
    names = tuple(f"sglang:{name}" for name in raw)
    return Rule(signal, names, GAUGE, where=_TOTAL, over=over, attributes=more)


def _counter(signal: str, *raw: str, **more: str) -> Rule:
    return Rule(signal, tuple(f"sglang:{name}" for name in raw), attributes=more)


RULES: tuple[Rule, ...] = (
    Rule("queue_depth", ("sglang:num_queue_reqs",), GAUGE, where=_TOTAL, expected=True),
    _gauge("queue_max", "num_queue_reqs", over="max"),
    Rule("running", ("sglang:num_running_reqs",), GAUGE, where=_TOTAL, expected=True),
    Rule("kv_usage_ratio", ("sglang:token_usage",), GAUGE, over="mean", floor=0.0, expected=True),
    Rule("kv_usage_max_ratio", ("sglang:token_usage",), GAUGE, over="max", floor=0.0),
    _gauge("grammar_queue_depth", "num_grammar_queue_reqs"),
    _gauge("paused", "num_paused_reqs"),
    _gauge("pd_queue_depth", "num_prefill_bootstrap_queue_reqs", "num_prefill_prealloc_queue_reqs", stage="bootstrap"),
    _gauge("pd_queue_depth", "num_prefill_inflight_queue_reqs", "num_prefill_infight_queue_reqs", stage="inflight"),
    _gauge("pd_queue_depth", "num_decode_prealloc_queue_reqs", stage="prealloc"),
    _gauge("pd_queue_depth", "num_decode_transfer_queue_reqs", stage="transfer"),
    _gauge("adapters_resident", "lora_pool_slots_used"),
    _gauge("adapter_slots", "lora_pool_slots_total"),
    Rule("startup_phase_seconds", ("sglang:startup_time_seconds",), GAUGE, by={"phase": "phase"}, over="max"),
    _gauge("spec_draft_count", "spec_num_draft_tokens", over="max"),
    Rule("spec_accept_ratio", ("sglang:spec_accept_rate",), GAUGE, over="mean", floor=0.0),
    _gauge("spec_accept_length", "spec_accept_length", over="mean"),
    _gauge("kv_tier_used_tokens", "hicache_host_used_tokens", **_HOST),
    _gauge("kv_tier_capacity_tokens", "hicache_host_total_tokens", **_HOST),
    _counter("preemptions", "num_retracted_requests_total", "total_retracted_reqs"),
    Rule("prompt_tokens", ("sglang:prompt_tokens_total",), expected=True),
    Rule("generation_tokens", ("sglang:generation_tokens_total",), expected=True),
    Rule("prompt_tokens_by_tenant", ("sglang:prompt_tokens_total{tenant=*}",), by={"tenant": "tenant"}),
    Rule("generation_tokens_by_tenant", ("sglang:generation_tokens_total{tenant=*}",), by={"tenant": "tenant"}),
    _counter("step_tokens", "realtime_tokens_total{mode=prefill_compute|decode}"),
    _counter("steps", "cuda_graph_passes_total"),
    _counter("step_seconds", "forward_execution_seconds_total", "gpu_execution_seconds_total"),
    _counter("prefix_query_tokens", "prefill_effective_tokens_total", "prompt_tokens_total"),
    Rule(
        "prefix_hit_tokens",
        (_HITS, "sglang:cached_tokens{cache_source=device|host|storage}", "sglang:cached_tokens{cache_source=total|}"),
    ),
    *(
        Rule("prefix_hit_tokens_by_tier", tuple(
            f"sglang:{name}" for name in (
                f"prefill_effective_tokens{{mode={tier}_hit}}", f"cached_tokens{{cache_source={tier}}}"
            )
        ), attributes={"tier": tier})
        for tier in ("device", "host", "storage")
    ),
    _counter("finished", "num_requests_total"),
    _counter("finished_by_reason", "num_aborted_requests_total", "num_aborted_requests", reason="abort"),
    Rule("http_requests", ("sglang:http_responses_total",), by={"status_code": "status"}),
    *per_gpu_estimates("sglang"),
    _counter("spec_drafts", "spec_verify_calls_total"),
    _counter("structured_requests", "num_so_requests_total"),
    _counter("grammar_requests", "num_grammar_total"),
    _counter("grammar_cache_hits", "num_grammar_cache_hit_total"),
    _counter("grammar_failures", "num_grammar_aborted_total", reason="abort"),
    _counter("grammar_failures", "num_grammar_timeout_total", reason="timeout"),
    _counter("kv_transfer_failures", "num_transfer_failed_reqs_total"),
    _counter("kv_transfer_failures", "num_bootstrap_failed_reqs_total"),
    Rule("kv_offload_load_bytes", ("sglang:load_back_bytes_total",), every_rank=True),
    Rule("kv_tier_read_bytes", ("sglang:load_back_bytes_total",), every_rank=True, attributes=_HOST),
    Rule("kv_offload_store_bytes", ("sglang:hicache_backup_bytes_total",), every_rank=True),
    _counter("kv_tier_read_tokens", "load_back_tokens_total{pool=kv|}", **_HOST),
    _counter("kv_tier_write_tokens", "hicache_backup_tokens_total{pool=kv|}", **_HOST),
    _counter("kv_tier_read_tokens", "prefetched_tokens_total", **_STORAGE),
    _counter("kv_tier_write_tokens", "backuped_tokens_total", **_STORAGE),
    _counter("kv_tier_evicted_tokens", "evicted_tokens_total", **_DEVICE),
    _counter("expert_balance_sum", "eplb_balancedness_sum"),
    _counter("expert_balance_count", "eplb_balancedness_count"),
    Rule("ttft_seconds", ("sglang:time_to_first_token_seconds",), HISTOGRAM, count_as="first_tokens", expected=True,
         absent_on=("prefill",)),
    Rule("itl_seconds", ("sglang:inter_token_latency_seconds", "sglang:time_per_output_token_seconds"), HISTOGRAM),
    Rule("tpot_seconds", ("sglang:request_time_per_output_token_seconds",), HISTOGRAM),
    Rule("e2e_seconds", ("sglang:e2e_request_latency_seconds",), HISTOGRAM, expected=True),
    Rule("queue_seconds", ("sglang:queue_time_seconds", "sglang:queue_time_s"), HISTOGRAM, sum_as="queue_seconds_sum"),
    Rule("prefill_seconds", ("sglang:per_stage_req_latency_seconds{stage=prefill_forward}",), HISTOGRAM,
         sum_as="prefill_seconds_sum"),
    Rule("decode_seconds", ("sglang:per_stage_req_latency_seconds{stage=decode_forward}",), HISTOGRAM),
    Rule("grammar_compile_seconds", ("sglang:grammar_compilation_time_seconds",), HISTOGRAM, sum_as="grammar_seconds"),
    Rule("input_length_tokens", ("sglang:prompt_tokens_histogram",), HISTOGRAM),
    Rule("output_length_tokens", ("sglang:generation_tokens_histogram",), HISTOGRAM),
    Rule("kv_transfer_latency_seconds", ("sglang:kv_transfer_latency_ms",), HISTOGRAM, scale=1e-3,
         sum_as="kv_transfer_seconds"),
    Rule("kv_transfer_size_bytes", ("sglang:kv_transfer_total_mb",), HISTOGRAM, scale=_MB, sum_as="kv_transfer_bytes"),
    Rule("kv_tier_read_seconds", ("sglang:load_back_duration_seconds",), HISTOGRAM, attributes=_HOST),
    Rule("kv_capacity_tokens", ("sglang:max_total_num_tokens",), VALUE),
    Rule("block_tokens", ("sglang:page_size{dp_rank=0|}",), VALUE),
)  # fmt: skip

#: Families that are known and say nothing that a canonical signal needs; last-batch gauges are stale when idle.
IGNORED = families(
    "sglang:",
    """
gen_throughput cache_hit_rate utilization fwd_occupancy new_token_ratio is_cuda_graph decode_sum_seq_lens
full_token_usage swa_token_usage mamba_usage num_used_tokens kv_available_tokens kv_evictable_tokens kv_used_tokens
swa_available_tokens swa_evictable_tokens swa_used_tokens mamba_available_tokens mamba_evictable_tokens
mamba_used_tokens  spec_cap_length spec_block_accept_length spec_num_steps num_retracted_reqs
num_retracted_input_tokens num_retracted_output_tokens num_prefill_retries num_decode_host_receive_queue_reqs
num_decode_host_receive_reqs num_decode_deferred_kv_release_reqs decode_deferred_kv_release_seconds
decode_deferred_kv_release pending_prealloc_token_usage prealloc_full_token_usage prealloc_swa_token_usage
lora_pool_utilization num_unique_running_routing_keys routing_key_running_req_count routing_key_all_req_count
max_total_num_tokens_swa weight_memory_usage_gb kv_cache_memory_usage_gb graph_memory_usage_gb num_pages context_len
startup_available_gpu_memory_gb scheduler_idle_seconds scheduler_process_cpu_seconds scheduler_stage_seconds
dp_attention_tokens dp_attention_steps dp_attention_pairs dp_attention_token_imbalance_ratio
dp_attention_sync_wait_seconds storage_prefetch_unfulfilled_tokens storage_prefetch_deferred_tokens
storage_prefetch_hit_tokens uncached_prompt_tokens_histogram kv_transfer_speed_gb_s kv_transfer_bootstrap_ms
kv_transfer_alloc_ms eviction_duration_seconds hicache_backup_duration_seconds hicache_backup_dropped_tokens
hicache_dropped_tokens hicache_host_mamba_used_states hicache_host_mamba_total_states prefetch_pgs backup_pgs
prefetch_bandwidth backup_bandwidth num_streaming_sessions streaming_session_held_tokens process_cpu_seconds
http_requests http_requests_active func_latency_seconds routing_keys_active max_running_requests_under_SLO
""",
)

_ROLES = {"prefill": "prefill", "decode": "decode"}


def _role(series: Series) -> str | None:
    return _ROLES.get(series.labels.get("engine_type", ""))


def _attribute(name: str, value: str) -> str:
    """Write HTTP codes as vLLM's page does: by class."""
    return f"{value[0]}xx" if name == "status" and value[:1].isdigit() else value


SGLANG = Dialect(
    engine="sglang",
    title="SGLang",
    prefixes=("sglang_",),
    version_at=("/server_info", "version"),
    rules=RULES,
    ranks=("dp_rank", "tp_rank", "pp_rank", "moe_ep_rank"),
    repeats=("tp_rank", "pp_rank", "moe_ep_rank", "pid"),
    role=_role,
    attribute=_attribute,
    halves=halves,
    line=line,
    ignored=IGNORED,
    owners=("sglang",),
)
