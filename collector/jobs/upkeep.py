"""Keeps the store small and quick: merges bins, drops what is older than its keep, archives days, tidies the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from collector.api.services import Services

#: Closed periods are merged again for a day: halves may come late.
REOPENED = timedelta(hours=26)
MERGE = ("merge_latency_read", "merge_latency_clear", "merge_latency_write",
         "merge_instance_read", "merge_instance_clear", "merge_instance_write")  # fmt: skip
DROP = ("drop_requests", "drop_halves", "drop_samples", "drop_histograms", "drop_signals", "drop_gpus", "drop_hosts",
        "drop_bins_minute", "drop_bins_5minute", "drop_bins_hour", "drop_counts")  # fmt: skip


@dataclass(slots=True)
class Upkeep:
    """One round an hour; deletions free blocks inside the file, which then stops growing."""

    parts: Services

    def run(self) -> None:
        """Archive, merge and drop what is due, then checkpoint."""
        config, now, store = self.parts.config, self.parts.clock(), self.parts.store
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        closed = now.replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
        params = {
            "closed": closed,
            "reopened": closed - REOPENED,
            "requests": day - timedelta(days=config.keep_requests_days),
            "samples": day - timedelta(days=config.keep_samples_days),
            "minute": day - timedelta(days=config.keep_minute_bins_days),
            "five": day - timedelta(days=config.keep_5minute_bins_days),
            "hour": day - timedelta(days=config.keep_hour_bins_days),
            "counts": day - timedelta(days=config.keep_counts_days),
        }
        if config.archive:
            store.archive(Path(config.archive), {"requests": params["requests"], "engine_samples": params["samples"]})
        store.run("collector.jobs", (*MERGE, *DROP), params)
        store.tidy_ledger(closed, closed - timedelta(days=config.keep_ledger_days))
        store.checkpoint()
