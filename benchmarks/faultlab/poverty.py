"""Takes recorded data away, as services do that export less; what is taken is unknown afterwards, never zero."""

from __future__ import annotations

import duckdb
import numpy as np

#: What a service may not export: a table as a whole, or columns of one.
LOSSES: dict[str, tuple[str, tuple[str, ...]]] = {
    "gpus": ("gpu_samples", ()),
    "gpu events": ("gpu_events", ()),
    "hosts": ("host_samples", ()),
    "signals": ("signal_samples", ()),
    "changes": ("changes", ()),
    "lives": ("instances", ()),
    "hits": ("requests", ("cached_tokens",)),
    "versions": ("requests", ("model_version",)),
    "gateway": ("requests", ("gateway_seconds", "engine_ttft_seconds")),
    "structure": ("requests", ("structured", "adapter", "domain")),
    "stages": ("requests", ("queue_seconds", "prefill_seconds", "transfer_seconds", "decode_seconds")),
    "pages": ("engine_samples", ()),
}


def impoverish(connection: duckdb.DuckDBPyConnection, rng: np.random.Generator, share: float = 0.35) -> list[str]:
    """Take each kind of data away with probability `share`; return what was taken."""
    taken = [name for name in LOSSES if rng.random() < share]
    for name in taken:
        table, columns = LOSSES[name]
        if not columns:
            connection.execute(f"delete from {table}")
        for column in columns:
            connection.execute(f"update {table} set {column} = null")
    return taken
