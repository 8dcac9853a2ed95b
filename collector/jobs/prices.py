"""Keeps the prices that pools declare beside the data, so that the view `cost_per_mtoken` can be asked in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from collector.api.inputs import configured_pools
from collector.api.services import Services


@dataclass(slots=True)
class PriceKeeper:
    """Writes the prices when they change."""

    parts: Services
    _last: tuple[tuple[object, ...], ...] | None = None

    def run(self) -> None:
        """Read the configured pools and store their prices."""
        rows: list[dict[str, object]] = [
            {
                "pool": pool.name,
                "model": pool.model,
                "gpu_type": pool.gpu_type,
                "gpus_per_instance": pool.gpus_per_instance,
                "usd_per_gpu_hour": pool.usd_per_gpu_hour,
                "since": None
                if pool.price_since is None
                else datetime.fromisoformat(pool.price_since).replace(tzinfo=UTC),
            }
            for pool in configured_pools(self.parts)
            if pool.usd_per_gpu_hour is not None
        ]
        gist = tuple(tuple(row.values()) for row in rows)
        if gist != self._last:
            self.parts.store.run("collector.jobs", ["forget_prices"], {})
            self.parts.store.append("prices", rows)
            self._last = gist
