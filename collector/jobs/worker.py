"""Learns forecasts in one process of its own, so that no sender waits for the arithmetic; never opens the store."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analytics.forecast import Forecaster
    from analytics.forecast.history import FloatArray, TimeArray

log = logging.getLogger(__name__)
#: Below the collector itself: taking in what engines send comes first.
NICE = 5


@dataclass(slots=True)
class Worker:
    """A process that is started when it is first needed, and again when it died."""

    _pool: ProcessPoolExecutor | None = None

    def learn(self, forecaster: Forecaster, times: TimeArray, values: FloatArray) -> Forecaster:
        """Return the forecaster fitted on (times, values) per second; a worker that dies over it costs one try."""
        try:
            return self._running().submit(fitted, forecaster, times, values).result()
        except BrokenProcessPool:
            log.warning("the process that learns forecasts died; this one is learnt here, the next in a new process")
            self.stop()
            return fitted(forecaster, times, values)

    def pids(self) -> list[int]:
        """Return the worker's process id, if it runs."""
        return list(self._pool._processes or ()) if self._pool is not None else []  # there is no public way

    def stop(self) -> None:
        """End the process; what it was learning is lost, which costs nothing."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None

    def _running(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, initializer=begin)
        return self._pool


def fitted(forecaster: Forecaster, times: TimeArray, values: FloatArray) -> Forecaster:
    """Return the forecaster, fitted; runs in the worker."""
    return forecaster.fit(times, values)


def begin() -> None:
    """Settle the new process: it gives way, leaves Ctrl-C to its parent, and ends when that does."""
    os.nice(NICE)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
