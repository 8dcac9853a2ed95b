"""Keeps the store small and quick: joins what is far apart, merges bins, drops or archives old days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from collector.api.services import Services
from collector.store.sqlfiles import sql

PACKAGE = "collector.jobs"
#: Closed periods are merged again for a day: halves may come late.
REOPENED = timedelta(hours=26)
MERGE = ("merge_latency_read", "merge_latency_clear", "merge_latency_write",
         "merge_instance_read", "merge_instance_clear", "merge_instance_write")  # fmt: skip
DROP = ("keep_demand", "drop_requests", "drop_halves", "drop_half_bodies", "drop_far_halves",
        "keep_engine_demand", "drop_samples", "drop_histograms", "drop_signals", "drop_gpus", "drop_hosts",
        "drop_instance_bins", "drop_bins_minute", "drop_bins_5minute", "drop_bins_hour", "drop_counts",
        "drop_demand", "drop_engine_demand")  # fmt: skip

#: What the archive takes away itself: it stays in the views, so that no sum has to stand for it.
ARCHIVED = {"keep_demand", "drop_requests", "keep_engine_demand", "drop_samples"}


@dataclass(slots=True)
class Upkeep:
    """One round an hour; deletions free blocks inside the file, which then stops growing."""

    parts: Services

    def run(self) -> None:
        """Join halves that were far apart; archive, merge and drop what is due, then checkpoint."""
        config, now, store = self.parts.config, self.parts.clock(), self.parts.store
        store.join_far()
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
            "demand": day - timedelta(days=config.keep_demand_days),
        }
        drop: tuple[str, ...] = DROP
        if config.archive:
            drop = tuple(name for name in DROP if name not in ARCHIVED)  # what comes just now waits for the next round
            store.archive(Path(config.archive), {"requests": params["requests"], "engine_samples": params["samples"]})
        else:
            self._count_late("requests", params["requests"])
            self._count_late("samples", params["samples"])
        store.run(PACKAGE, (*MERGE, *drop), params)
        store.tidy_ledger(closed, closed - timedelta(days=config.keep_ledger_days))
        store.checkpoint()

    def _count_late(self, table: str, until: datetime) -> None:
        """Count, in `data_quality`, rows that came for days that were dropped already: they go unseen by any answer."""
        store, name = self.parts.store, f"dropped_{table}"
        with store.cursor() as cursor:
            noted = cursor.execute(sql(PACKAGE, "dropped_before"), {"name": name}).fetchall()
            before = datetime.fromtimestamp(noted[0][0] / 1e6, UTC) if noted else None
            found = cursor.execute(sql(PACKAGE, f"late_{table}"), {"dropped": before}).fetchall()[0]
        if found[0]:
            store.record_quality(f"late_{table}_dropped", found[0], example=f"newest of {found[1].isoformat()}")
        reached = until if before is None else max(until, before)
        store.run("collector.store", ("progress_set",), {"name": name, "value": round(reached.timestamp() * 1e6)})
