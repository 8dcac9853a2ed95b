"""Watches this machine beside its engines: GPUs, host, processes; writes their rows, asks the driver nothing itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.config import Config, TargetConfig
from agent.encode import Encoder
from agent.gpus.nvml import Driver, load_driver
from agent.gpus.watch import GpuWatch
from agent.host import HostReader
from agent.lifecycle import Known
from agent.log import log
from agent.ownership import Owned, Ownership, is_local
from agent.podresources import pod_gpus
from agent.processes import ProcessTable
from agent.schedule import Ticker
from agent.selfmetrics import SelfMetrics
from agent.spool import METRICS, Spool
from agent.targets.form import PodLife
from signals.errors import StoreError
from signals.records import HostRows

OWNERSHIP_SECONDS = 60.0

Rows = Mapping[str, tuple[Mapping[str, object], ...]]


@dataclass(slots=True)
class Machine:
    """This machine. `upgraded` is called when the driver was replaced under the running agent."""

    config: Config
    host: str
    spool: Spool
    metrics: SelfMetrics
    clock: Callable[[], float]
    wall_ns: Callable[[], int]
    targets: Callable[[], Sequence[TargetConfig]]
    upgraded: Callable[[], None]
    driver: Driver | None = None
    gpus: GpuWatch | None = None
    ownership: Ownership | None = None
    encoder: Encoder = field(default_factory=Encoder)
    _tickers: list[Ticker] = field(default_factory=list)
    pods: dict[str, PodLife] = field(default_factory=dict)
    _since_ns: dict[str, int] = field(default_factory=dict)

    def start(self) -> None:
        """Start what the configuration asks for."""
        root = Path(self.config.host.root)
        ticks = float(os.sysconf("SC_CLK_TCK"))
        socket = root / self.config.gpu.pod_resources.lstrip("/")
        ownership = self.ownership = Ownership(
            ProcessTable(root, ticks),
            self.targets,
            lambda target: is_local(target, self.host),
            lambda: pod_gpus(socket),
        )
        self._tick("ownership", OWNERSHIP_SECONDS, ownership.look)
        if self.config.host.enabled:
            reader = HostReader(root, self.clock, ownership.engine_pids, ticks)
            self._tick("host", self.config.host.interval_seconds, lambda: self._host_row(reader))
        if self.config.gpu.enabled != "no":
            self.driver = self.driver or load_driver()
        if self.driver is not None and self.config.gpu.enabled != "no":
            self.gpus = GpuWatch(
                self.config.gpu,
                self.driver,
                self.clock,
                lambda: self.wall_ns() / 1e9,
                lambda rows: self.write("gpu", rows),
                ownership.owner,
                self.upgraded,
                self._gauge,
                self._failed,
            )
            self.gpus.start()

    def stop(self) -> None:
        """Ask every thread to end; none is waited for."""
        for ticker in self._tickers:
            ticker.stop()
        if self.gpus is not None:
            self.gpus.stop()

    def write(self, source: str, rows: Rows) -> None:
        """Spool rows; `source` tells whose previous rows they follow."""
        now = self.wall_ns()
        since = self._since_ns.get(source)
        try:
            self.spool.put(METRICS, lambda identity: self.encoder.rows(HostRows(identity, self.host, now, since, rows)))
        except StoreError as error:
            log.error("%s rows not kept: %s", source, error)
            self.metrics.dropped.labels("unwritten").inc()
            return
        self._since_ns[source] = now

    def known(self, instance: str) -> Known:
        """Return what this machine knows of an instance."""
        owned = self.ownership.owned(instance) if self.ownership else Owned()
        gpus = self.gpus_of(instance)
        kinds = {worker.uuid: worker.name for worker in self.gpus.workers.values()} if self.gpus else {}
        kind = next((kinds[gpu] for gpu in gpus if kinds.get(gpu)), None)
        life = self.pods.get(instance)
        return Known(
            owned.started_at or (life.started_at if life else None),
            life.ready_at if life else None,
            life.draining_at if life else None,
            kind,
            len(gpus) or None,
            owned.command,
        )

    def gpus_of(self, instance: str) -> tuple[str, ...]:
        return self.ownership.gpus(instance) if self.ownership else ()

    def _host_row(self, reader: HostReader) -> None:
        row = reader.row()
        if row:
            self.write("host", {"host_samples": (row,)})

    def _tick(self, name: str, seconds: float, step: Callable[[], None]) -> None:
        self._tickers.append(Ticker(name, seconds, step, self.clock, self._failed).start())

    def _failed(self, name: str) -> None:
        self.metrics.faults.labels(name).inc()

    def _gauge(self, metric: str, label: str, value: float) -> None:
        gauges = {
            "gpus": self.metrics.gpus,
            "gpm": self.metrics.gpm,
            "tick_lag": self.metrics.tick_lag,
            "tick_seconds": self.metrics.tick_seconds,
        }
        gauges[metric].labels(label).set(value)
        if metric == "tick_seconds":
            self.metrics.ticks.labels(label).inc()
