"""LMCache's words: what a KV cache beside the engine holds, finds, stores and how long that takes.

Names are from LMCache 0.5.6's own collector and a page it generated; inside vLLM the same families stand on vLLM's
page, so vLLM's dialect reads these rules too. Traps: times to remote backends are in milliseconds, all others in
seconds; hit-rate gauges are windows that reset with the log; every tensor-parallel worker counts the same tokens and
its own share of the bytes.
"""

from __future__ import annotations

from signals.dialects.form import GAUGE, HISTOGRAM, Dialect, Rule, families

_LOCAL = {"tier": "host"}
_DISK = {"tier": "disk"}
_REMOTE = {"tier": "remote"}
_ANY = {"tier": "lmcache"}

#: Every worker of a tensor-parallel group counts the same tokens.
REPEATS = ("worker_id",)

RULES: tuple[Rule, ...] = (
    Rule("kv_tier_query_tokens", ("lmcache:num_lookup_tokens_total", "lmcache:num_requested_tokens_total"),
         attributes=_ANY),
    Rule("kv_tier_hit_tokens", ("lmcache:num_lookup_hits_total", "lmcache:num_hit_tokens_total"), attributes=_ANY),
    Rule("kv_tier_read_tokens", ("lmcache:num_hit_tokens_total",), attributes=_ANY),
    Rule("kv_tier_write_tokens", ("lmcache:num_stored_tokens_total",), attributes=_ANY),
    Rule("kv_offload_load_bytes", ("lmcache:num_remote_read_bytes_total",), every_rank=True,
         unless=("vllm:kv_offload_load_bytes",)),
    Rule("kv_offload_store_bytes", ("lmcache:num_remote_write_bytes_total",), every_rank=True,
         unless=("vllm:kv_offload_store_bytes",)),
    Rule("kv_tier_read_bytes", ("lmcache:num_remote_read_bytes_total",), attributes=_REMOTE, every_rank=True),
    Rule("kv_tier_used_bytes", ("lmcache:local_cache_usage",), GAUGE, attributes=_LOCAL, every_rank=True),
    Rule("kv_tier_used_bytes", ("lmcache:local_storage_usage",), GAUGE, attributes=_DISK, every_rank=True),
    Rule("kv_tier_used_bytes", ("lmcache:remote_cache_usage",), GAUGE, attributes=_REMOTE, every_rank=True),
    Rule("kv_tier_failures", ("lmcache:remote_ping_errors_total",), attributes=_REMOTE),
    Rule("kv_tier_read_seconds", ("lmcache:time_to_retrieve",), HISTOGRAM, attributes=_ANY),
    Rule("kv_tier_write_seconds", ("lmcache:time_to_store",), HISTOGRAM, attributes=_ANY),
    Rule("kv_tier_read_seconds", ("lmcache:remote_time_to_get",), HISTOGRAM, scale=1e-3, attributes=_REMOTE),
    Rule("kv_tier_write_seconds", ("lmcache:remote_time_to_put",), HISTOGRAM, scale=1e-3, attributes=_REMOTE),
)  # fmt: skip

IGNORED = families(
    "lmcache:",
    """num_retrieve_requests num_store_requests num_lookup_requests num_vllm_hit_tokens num_prompt_tokens
    num_remote_read_requests num_remote_write_requests local_cpu_* forced_unpin_count lookup_0_hit_requests
    num_slow_retrieval_by_time num_slow_retrieval_by_speed retrieve_* lookup_hit_rate active_memory_objs_count
    pinned_memory_objs_count time_to_lookup remote_backend_* instrumented_connector_* store_* p2p_*
    remote_time_to_get_sync request_cache_* remote_ping_* kv_msg_queue_size remote_put_task_num pin_monitor_*
    lmcache_is_healthy get_blocking_failed_count put_failed_count storage_events_* chunk_statistics_*
    scheduler_unfinished_requests_count connector_* periodic_threads_*""",
)

LMCACHE = Dialect(
    engine="lmcache",
    title="LMCache",
    prefixes=("lmcache_",),
    rules=RULES,
    ranks=("worker_id",),
    repeats=REPEATS,
    ignored=IGNORED,
)
