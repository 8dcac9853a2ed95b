"""Keeps one worker for every GPU, tells their states, and writes their rows; survives lost, hung and upgraded ones."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.config import GpuConfig
from agent.gpus.form import REFUSED
from agent.gpus.nvml import MISMATCH, NO_LIBRARY, UNLOADED, Driver, DriverError
from agent.gpus.worker import HUNG, LOST, OK, GpuWorker
from agent.gpus.xids import XidWatch
from agent.log import log
from agent.schedule import Ticker

REMEDY = (
    "GPU performance counters are refused: run the agent with CAP_SYS_ADMIN (CAP_PERFMON from R565), or load the driver"
    " with NVreg_RestrictProfilingToAdminUsers=0"
)
LOOK_SECONDS = 5.0

Rows = Mapping[str, tuple[Mapping[str, object], ...]]


@dataclass(slots=True)
class GpuWatch:
    """All GPUs of the host.

    write: takes the rows of one interval. owner: instance by process ids. upgraded: called when the driver is a newer
    one than the library in this process. gauge: hears (metric, label, value). wall: Unix seconds, for events.
    """

    config: GpuConfig
    driver: Driver
    clock: Callable[[], float]
    wall: Callable[[], float]
    write: Callable[[Rows], None]
    owner: Callable[[str, Sequence[int]], str | None]
    upgraded: Callable[[], None]
    gauge: Callable[[str, str, float], None]
    failed: Callable[[str], None] = field(default=lambda _name: None)
    workers: dict[int, GpuWorker] = field(default_factory=dict)
    _events: list[Mapping[str, object]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _tickers: list[Ticker] = field(default_factory=list)
    _xids: XidWatch | None = None
    _open: bool = False
    _look_at: float = float("-inf")
    _states: dict[int, str] = field(default_factory=dict)
    _retry_at: dict[int, float] = field(default_factory=dict)
    _warned: bool = False
    _version: str | None = None

    def start(self) -> None:
        """Start looking for GPUs and writing rows, each in a thread of its own."""
        look = Ticker("gpu discovery", LOOK_SECONDS, self.look, self.clock, self.failed)
        emit = Ticker("gpu rows", self.config.row_seconds, self.emit, self.clock, self.failed, self.config.row_seconds)
        self._tickers = [look.start(), emit.start()]
        self._xids = XidWatch(self.driver, self._handles, self.told)
        self._xids.start()

    def stop(self) -> None:
        """Ask every thread to end; a hung one never will."""
        for ticker in self._tickers:
            ticker.stop()
        for worker in self.workers.values():
            worker.stop()
        if self._xids is not None:
            self._xids.stopping.set()

    def look(self) -> None:
        """Connect to the driver, start workers for new GPUs, and try lost ones again after a while."""
        if self.clock() < self._look_at:
            return
        try:
            if not self._open:
                self.driver.open()
                self._open = True
                self._version = self.driver.version()
                log.info("NVIDIA driver %s", self._version)
            count = self.driver.count()
        except DriverError as error:
            self._refused(error)
            return
        now = self.clock()
        for index in range(count):
            worker = self.workers.get(index)
            if worker is not None and worker.running():
                continue
            if worker is not None:
                if worker.mismatch:
                    log.warning("the NVIDIA driver was replaced under the running agent")
                    self.upgraded()
                due = self._retry_at.setdefault(index, now + self.config.retry_seconds)
                if now < due:
                    continue
                self._retry_at.pop(index)
            self.workers[index] = GpuWorker(
                self.driver,
                index,
                self.config.gpm,
                self.config.tick_seconds,
                self.clock,
                self.told,
                self._measured,
                uuid=worker.uuid if worker else "",
            ).start()

    def emit(self) -> None:
        """Write one row for every GPU, and the events since the last time."""
        rows: list[Mapping[str, object]] = []
        counts = {OK: 0, LOST: 0, HUNG: 0}
        states: dict[str, int] = {}
        for index, worker in sorted(self.workers.items()):
            found = worker.rows(self.config.hung_seconds)
            for row in found:
                mig = str(row["mig"]) if "mig" in row else None
                instance = self.owner(mig or str(row["gpu"]), worker.pids.get(mig, ()))
                rows.append({**row, "instance": instance} if instance else row)
                gpm = row.get("gpm_state")
                if isinstance(gpm, str):
                    states[gpm] = states.get(gpm, 0) + 1
            if found:
                self._changed(index, worker, str(found[0]["state"]))
                counts[str(found[0]["state"])] += 1
        for state, number in counts.items():
            self.gauge("gpus", state, number)
        for state, number in states.items():
            self.gauge("gpm", state, number)
        if states.get(REFUSED) and not self._warned:
            self._warned = True
            log.warning(REMEDY)
        with self._lock:
            events, self._events = self._events, []
        found_rows = {"gpu_samples": tuple(rows), "gpu_events": tuple(events)}
        if rows or events:
            self.write({view: part for view, part in found_rows.items() if part})

    def told(self, gpu: str, kind: str, code: int | None) -> None:
        """Remember an event for the next row."""
        event: dict[str, object] = {"gpu": gpu, "kind": kind, "ts": self.wall()}
        if code is not None:
            event["code"] = code
        with self._lock:
            self._events.append(event)

    def _changed(self, index: int, worker: GpuWorker, state: str) -> None:
        before = self._states.get(index)
        self._states[index] = state
        gpu = worker.uuid or f"index-{index}"
        if state == HUNG and before != HUNG:
            log.error("GPU %s: the driver has not answered for %g s", gpu, self.config.hung_seconds)
            self.told(gpu, "hung", None)
        if state == OK and before in {HUNG, LOST}:
            log.info("GPU %s is back", gpu)
            self.told(gpu, "back", None)

    def _refused(self, error: DriverError) -> None:
        if error.code == MISMATCH:
            log.warning("the NVIDIA driver was replaced under the running agent")
            self.told("driver", "driver_upgrade", error.code)
            self.upgraded()
        elif (error.code not in {NO_LIBRARY, UNLOADED} or self.config.enabled == "yes") and not self._warned:
            log.error("no GPU can be read: %s", error)
            self._warned = True
        self._open = False
        self._look_at = self.clock() + self.config.retry_seconds

    def _handles(self) -> dict[str, object]:
        return {
            worker.uuid: worker.handle
            for worker in list(self.workers.values())
            if worker.handle is not None and worker.running()
        }

    def _measured(self, gpu: str, lag: float, seconds: float) -> None:
        self.gauge("tick_lag", gpu, max(0.0, lag))
        self.gauge("tick_seconds", gpu, seconds)
