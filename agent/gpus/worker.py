"""Watches one GPU in a thread of its own: a tick a second, rows on request; a hung driver call harms no other GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent.gpus.form import Reader, Tick
from agent.gpus.nvml import MISMATCH, Device, Driver, DriverError
from agent.gpus.registry import new_readers
from agent.gpus.summary import Summary
from agent.log import log
from agent.schedule import Pace

OK, LOST, HUNG = "ok", "lost", "hung"
#: Ticks between looks for MIG instances and processes.
LOOK_EVERY = 30

Told = Callable[[str, str, int | None], None]


@dataclass(slots=True)
class _Part:
    """One device of the GPU (itself, or a MIG instance) with its readers and its row in the making."""

    device: Device
    readers: Sequence[Reader]
    summary: Summary = field(default_factory=Summary)


@dataclass(slots=True)
class GpuWorker:
    """One GPU by index; `pids` are the processes on it and on each of its MIG instances.

    `told` hears (gpu, kind, code) of events; `measured` hears (gpu, lag, seconds) of each tick.
    """

    driver: Driver
    index: int
    gpm: bool
    tick_seconds: float
    clock: Callable[[], float]
    told: Told
    measured: Callable[[str, float, float], None]
    stopping: threading.Event = field(default_factory=threading.Event)
    uuid: str = ""
    name: str | None = None
    pids: dict[str | None, tuple[int, ...]] = field(default_factory=dict)
    beat: float = 0.0
    state: str = OK
    ticks: int = 0
    handle: object = None
    mismatch: bool = False
    _parts: list[_Part] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _thread: threading.Thread | None = None

    def start(self) -> GpuWorker:
        self.beat = self.clock()
        self._thread = threading.Thread(target=self._run, name=f"gpu {self.index}", daemon=True)
        self._thread.start()
        return self

    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        self.stopping.set()

    def rows(self, hung_after: float) -> list[dict[str, object]]:
        """Return one row for the GPU and each MIG instance, whatever state it is in."""
        if self.running() and self.clock() - self.beat > hung_after:
            return [self._row(HUNG, {})]
        if self.state == LOST or not self.running():
            return [self._row(LOST, {})]
        with self._lock:
            return [
                self._row(OK, part.summary.take() | ({"mig": part.device.mig} if part.device.mig else {}))
                for part in self._parts
                if part.summary.ticks
            ]

    def _row(self, state: str, columns: dict[str, object]) -> dict[str, object]:
        return {"gpu": self.uuid or f"index-{self.index}", "index": self.index, "state": state, **columns}

    def _run(self) -> None:
        try:
            self._connect()
            pace = Pace(self.tick_seconds, self.clock())
            wait = 0.0
            while not self.stopping.wait(wait):
                begun = self.clock()
                self.beat = begun
                self._tick(begun)
                ended = self.clock()
                self.measured(self.uuid, begun - pace.next_at, ended - begun)
                wait = pace.after(ended)
        except DriverError as error:
            self.mismatch = error.code == MISMATCH
            self.state = LOST
            log.error("GPU %d (%s): %s", self.index, self.uuid or "never seen", error)
            self.told(self.uuid or f"index-{self.index}", "lost", error.code)

    def _connect(self) -> None:
        device = self.driver.device(self.index)
        self.uuid, self.name, self.handle = device.uuid, device.name, device.handle
        self._look(device)

    def _look(self, device: Device) -> None:
        """Take in MIG instances that came or went, and the processes."""
        migs = device.migs()
        known = {part.device.mig: part for part in self._parts}
        wanted = [device, *migs]
        if [part.device.mig for part in self._parts] != [found.mig for found in wanted]:
            parts = [
                known.get(found.mig) or _Part(found, new_readers(self.gpm and not (migs and found.mig is None)))
                for found in wanted
            ]
            with self._lock:
                self._parts = parts
        self.pids = {found.mig: tuple(found.processes()) for found in wanted}

    def _tick(self, now: float) -> None:
        self.ticks += 1
        if self.ticks % LOOK_EVERY == 0:
            self._look(self._parts[0].device)
        for part in self._parts:
            tick = Tick(now, self.ticks - 1)
            for reader in part.readers:
                try:
                    reader.read(part.device, tick)
                except DriverError as error:
                    if error.gone or error.code == MISMATCH:
                        raise
                    log.debug("GPU %s: %s", self.uuid, error)
            with self._lock:
                part.summary.add(tick)
