"""Keeps the spool flowing to the collector: one shipping thread, started again when it dies or its settings change."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.config import CollectorConfig
from agent.fetch import Fetcher
from agent.log import log
from agent.selfmetrics import SelfMetrics
from agent.ship import Shipper
from agent.spool import Spool


@dataclass(slots=True)
class Delivery:
    """The shipper and its thread; `last` is the outcome of the newest delivery and when (monotonic; 0: none yet)."""

    spool: Spool
    metrics: SelfMetrics
    wall_ns: Callable[[], int]
    clock: Callable[[], float]
    last: tuple[str, float] = ("none yet", 0.0)
    _config: CollectorConfig | None = None
    _shipper: Shipper | None = None
    _thread: threading.Thread | None = None
    _over: threading.Event = field(default_factory=threading.Event)

    def start(self, config: CollectorConfig) -> None:
        """Ship to this collector from now on, to none where it has no address."""
        if self._shipper is not None:
            self._shipper.stopping.set()
            self.spool.fresh.set()
        self._config = config
        if config.url is None:
            self._shipper = None
            return
        self._shipper = Shipper(
            config,
            self.spool,
            Fetcher(config.tls),
            self.wall_ns,
            self._delivered,
            threading.Event(),
            offset=self.metrics.clock_offset.set,
        )
        self._thread = threading.Thread(target=self._shipper.run, name="shipping", daemon=True)
        self._thread.start()

    def supervise(self) -> None:
        """Start the thread again if it died."""
        thread = self._thread
        dead = self._shipper is not None and thread is not None and not thread.is_alive()
        if dead and self._config is not None and not self._over.is_set():
            self.metrics.faults.labels("shipping").inc()
            log.error("the shipping thread died; it is started again")
            self.start(self._config)

    def stop(self, seconds: float) -> None:
        """Deliver what can be delivered within `seconds`; the rest stays on disk. Never waits for a hung thread."""
        self._over.set()
        shipper = self._shipper
        if shipper is None:
            return
        shipper.stopping.set()
        self.spool.fresh.set()
        deadline = self.clock() + seconds
        if self._thread is not None:
            self._thread.join(max(0.0, deadline - self.clock()))
        if self._thread is None or not self._thread.is_alive():
            shipper.flush(deadline - self.clock(), self.clock)

    def _delivered(self, outcome: str, batches: int, size: int, seconds: float) -> None:
        self.metrics.deliveries.labels(outcome).inc()
        self.last = (outcome, self.clock())
        if outcome == "ok":
            self.metrics.delivered.inc(batches)
            self.metrics.delivered_bytes.inc(size)
            self.metrics.delivery_seconds.set(seconds)
