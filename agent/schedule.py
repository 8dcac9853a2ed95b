"""Runs a step at a steady pace in a thread of its own; skips ticks that were missed, never bunches them.

All threads of an agent tick on one grid, whole intervals of a clock that starts when the machine does: one wake-up
brings Python's code back into the processor's caches, and every step that is due then finds it there. On a machine that
is otherwise idle, or busy with others, a step that comes alone costs many times one in company. Other machines started
at other times, so that a fleet does not tick as one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from agent.log import log


@dataclass(slots=True)
class Pace:
    """When the next tick is due, on a monotonic clock."""

    interval_seconds: float
    next_at: float
    missed: int = 0

    def after(self, now: float) -> float:
        """Return the seconds until the next tick after one that ended at `now`."""
        self.next_at = on_grid(self.next_at + self.interval_seconds, self.interval_seconds)
        if self.next_at < now:
            late = int((now - self.next_at) / self.interval_seconds) + 1
            self.missed += late
            self.next_at += late * self.interval_seconds
        return max(0.0, self.next_at - now)


@dataclass(slots=True)
class Ticker:
    """A thread that calls `step` every interval until stopped; an error of a step is counted, never fatal."""

    name: str
    interval_seconds: float
    step: Callable[[], None]
    clock: Callable[[], float]
    failed: Callable[[str], None]
    first_delay: float = 0.0
    stopping: threading.Event = field(default_factory=threading.Event)
    pace: Pace | None = None
    beat: float = 0.0
    _thread: threading.Thread | None = None

    def start(self) -> Ticker:
        self.beat = self.clock()
        self._thread = threading.Thread(target=self.run, name=self.name, daemon=True)
        self._thread.start()
        return self

    def run(self) -> None:
        self.pace = Pace(self.interval_seconds, self.clock() + self.first_delay)
        wait = self.first_delay
        while not self.stopping.wait(wait):
            self.beat = self.clock()
            try:
                self.step()
            except Exception:  # noqa: BLE001 # a thread that dies in silence is the worst fault of a monitor
                log.exception("%s failed", self.name)
                self.failed(self.name)
            wait = self.pace.after(self.clock())

    def stop(self) -> None:
        self.stopping.set()

    def join(self, seconds: float) -> bool:
        """Return whether the thread ended in time."""
        if self._thread is not None:
            self._thread.join(seconds)
        return self._thread is None or not self._thread.is_alive()


def on_grid(at: float, interval_seconds: float) -> float:
    """Return the point of the grid that is nearest to a time."""
    return round(at / interval_seconds) * interval_seconds


def until_grid(now: float, interval_seconds: float) -> float:
    """Return the seconds until the next point of the grid."""
    return interval_seconds - now % interval_seconds
