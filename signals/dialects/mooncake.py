"""Mooncake's words on its master and transfer clients, from its source (2026-08); not tried against a running master.

The master (port 9003) serves a KV pool of many engines and no model of its own, so a configured model is not needed.
"""

from __future__ import annotations

from signals.dialects.form import GAUGE, Dialect, Rule

_MEMORY, _FILE, _POOL = {"tier": "memory"}, {"tier": "file"}, {"tier": "pool"}

RULES: tuple[Rule, ...] = (
    Rule("kv_tier_used_bytes", ("master_allocated_bytes",), GAUGE, attributes=_POOL, expected=True),
    Rule("kv_tier_capacity_bytes", ("master_total_capacity_bytes",), GAUGE, attributes=_POOL, expected=True),
    Rule("kv_tier_keys", ("master_key_count",), GAUGE, attributes=_POOL),
    Rule("kv_tier_evicted_bytes", ("master_evicted_size_bytes",), attributes=_POOL),
    Rule("kv_tier_failures", ("master_put_start_alloc_failures_total",), attributes=_POOL),
    Rule("kv_tier_hits", ("mem_cache_hit_nums_",), attributes=_MEMORY),
    Rule("kv_tier_hits", ("file_cache_hit_nums_",), attributes=_FILE),
    Rule("kv_tier_evicted_bytes_by_tenant", ("mooncake_tenant_evict_bytes_total",), by={"tenant_id": "tenant"}),
    Rule("kv_tier_rejected_by_tenant", ("mooncake_tenant_quota_reject_total",), by={"tenant_id": "tenant"}),
)

MOONCAKE = Dialect(
    engine="mooncake",
    title="Mooncake store",
    prefixes=(
        "master_allocated_",
        "master_total_capacity_",
        "master_key_",
        "master_evicted_",
        "master_put_",
        "mooncake_",
        "mem_cache_hit_",
        "file_cache_hit_",
    ),
    rules=RULES,
    ignored=("master_*", "mooncake_*", "mem_cache_*", "file_cache_*"),
    tested=False,
)
