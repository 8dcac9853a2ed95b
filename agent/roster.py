"""The targets that are scraped now, from every source that names some; starts and retires their loops."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agent.config import LimitsConfig, TargetConfig
from agent.encode import Encoder
from agent.fetch import Fetcher
from agent.log import log
from agent.loop import TargetLoop
from agent.scrape import Scraper, instance_of, named
from agent.selfmetrics import SelfMetrics
from agent.sender import sender_of
from agent.spans import Sender
from agent.spool import Spool
from signals.errors import SloscopeError
from signals.records import Scrape


@dataclass(slots=True)
class Roster:
    """One loop for each instance; where two sources name the same, the first one's settings hold."""

    host: str
    limits: LimitsConfig
    spool: Spool
    metrics: SelfMetrics
    clock: Callable[[], float]
    wall_ns: Callable[[], int]
    heard: Callable[[Scrape], None]
    loops: dict[str, TargetLoop] = field(default_factory=dict)
    _encoder: Encoder = field(default_factory=Encoder)
    _found: dict[str, tuple[TargetConfig, ...]] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def found(self, source: str, targets: Sequence[TargetConfig]) -> None:
        """Take the targets that one source knows now; those that it no longer knows are gone."""
        with self._lock:
            self._found[source] = tuple(named(target, self.host) for target in targets)
            self.metrics.targets.labels(source).set(len(targets))
            wanted: dict[str, TargetConfig] = {}
            for config in (config for group in self._found.values() for config in group):
                wanted.setdefault(instance_of(config), config)
            for name, loop in list(self.loops.items()):
                if wanted.get(name) != loop.scraper.config:
                    del self.loops[name]
                    loop.retire()
                    if name not in wanted:
                        loop.farewell()
            for name, config in wanted.items():
                if name not in self.loops:
                    self._add(name, config)

    def told(self, source: str) -> tuple[TargetConfig, ...] | None:
        """Return what a source named last, None if it never did."""
        with self._lock:
            return self._found.get(source)

    def sources(self) -> tuple[str, ...]:
        """Return the sources that have named targets."""
        with self._lock:
            return tuple(self._found)

    def limit(self, limits: LimitsConfig) -> None:
        """Take other limits: every loop is retired, `found` starts them again."""
        with self._lock:
            self.limits = limits
            for loop in self.loops.values():
                loop.retire()
            self.loops.clear()

    def stop(self) -> None:
        """Ask every loop to stop."""
        for loop in self._running():
            loop.stop()

    def wait(self, seconds: float) -> None:
        """Wait for the loops to stop, `seconds` in all; a hung one is left behind."""
        deadline = self.clock() + seconds
        for loop in self._running():
            if loop.ticker is not None:
                loop.ticker.join(max(0.0, deadline - self.clock()))

    def configs(self) -> list[TargetConfig]:
        """Return what is scraped."""
        return [loop.scraper.config for loop in self._running()]

    def senders(self) -> list[Sender]:
        """Return the targets as senders of spans."""
        return [sender_of(loop.scraper) for loop in self._running()]

    def failing(self) -> list[str]:
        """Return the instances whose last scrape failed."""
        return [loop.scraper.instance for loop in self._running() if loop.failing]

    def _running(self) -> list[TargetLoop]:
        with self._lock:
            return list(self.loops.values())

    def _add(self, name: str, config: TargetConfig) -> None:
        try:
            scraper = Scraper(config, self.limits, self.host, Fetcher(config.tls), self.wall_ns)
        except SloscopeError as error:
            log.error("%s is not scraped: %s", config.url, error)
            self.metrics.faults.labels(f"scrape {name}").inc()
            return
        loop = TargetLoop(scraper, self.spool, self._encoder, self.metrics, self.clock, self.heard)
        self.loops[name] = loop.start()
