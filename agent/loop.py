"""Scrapes one target at its pace and spools what came; one thread a target, so that a hung one holds up nobody."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from agent.encode import Encoder
from agent.log import log
from agent.schedule import Ticker, until_grid
from agent.scrape import Result, Scraper
from agent.selfmetrics import SelfMetrics
from agent.spool import METRICS, Spool
from signals.dialects.dcgm import DCGM, gpu_rows
from signals.errors import StoreError
from signals.records import FAILED, HostRows, Scrape

#: Resets in this many of the last scrapes mean worker processes that answer in turn.
ALTERNATING, WINDOW = 4, 10


@dataclass(slots=True)
class TargetLoop:
    """One target's scraper, its thread and its account; `heard` is told of every scrape that was spooled."""

    scraper: Scraper
    spool: Spool
    encoder: Encoder
    metrics: SelfMetrics
    clock: Callable[[], float]
    heard: Callable[[Scrape], None]
    ticker: Ticker | None = None
    _resets: list[bool] = field(default_factory=list)
    _gate: threading.Lock = field(default_factory=threading.Lock)
    _retired: bool = False
    _was_up: bool | None = None

    @property
    def key(self) -> str:
        """Return what the last readings are remembered under."""
        return f"{self.scraper.instance} {self.scraper.config.url}"

    @property
    def failing(self) -> bool:
        """Return whether the last scrape failed."""
        return self._was_up is False

    def start(self) -> TargetLoop:
        self.scraper.memory = self.spool.recall(self.key)
        interval = self.scraper.config.interval_seconds
        self.ticker = Ticker(
            f"scrape {self.scraper.instance}",
            interval,
            self.step,
            self.clock,
            lambda name: self.metrics.faults.labels(name).inc(),
            first_delay=until_grid(self.clock(), interval),
        ).start()
        return self

    def step(self) -> None:
        """Scrape once."""
        before = self.scraper.memory
        result = self.scraper.scrape()
        result, rows = _gpus_apart(result)
        with self._gate:
            if self._retired:
                return  # the next loop of this target goes on from the readings on disk
            if not self._put(result.scrape, result):
                self.scraper.memory = before
                return
            if rows:
                self._put_gpus(result.scrape, rows)
        self.heard(result.scrape)
        self._account(result)

    def _put_gpus(self, scrape: Scrape, rows: tuple[dict[str, object], ...]) -> None:
        """Keep what a DCGM page says of GPUs as rows of `gpu_samples`, beside those that NVML gives."""
        host = str(rows[0].get("host") or scrape.target.host or scrape.target.instance)
        batch = HostRows(scrape.identity, host, scrape.time_ns, scrape.start_ns, {"gpu_samples": rows})
        self.spool.put(METRICS, lambda identity: self.encoder.rows(replace(batch, identity=identity)))

    def stop(self) -> None:
        if self.ticker is not None:
            self.ticker.stop()

    def retire(self) -> None:
        """Stop, and let nothing of a scrape that is still under way reach the disk."""
        self.stop()
        with self._gate:
            self._retired = True

    def farewell(self) -> None:
        """Say that the target is gone."""
        scrape = self.scraper.farewell()
        if self._put(scrape, None):
            self.heard(scrape)
        self.metrics.scrapes.labels(self.scraper.instance, scrape.state).inc()
        self.metrics.forget(self.scraper.instance)

    def _put(self, scrape: Scrape, result: Result | None) -> bool:
        memory = result.memory if result else None
        try:
            self.spool.put(
                METRICS, lambda identity: self.encoder.scrape(replace(scrape, identity=identity)), self.key, memory
            )
        except StoreError as error:
            log.error("%s: not kept: %s", self.scraper.instance, error)
            self.metrics.dropped.labels("unwritten").inc()
            return False
        return True

    def _account(self, result: Result) -> None:
        name, state = self.scraper.instance, result.scrape.state
        up = state != FAILED
        self.metrics.scrapes.labels(name, state).inc()
        self.metrics.up.labels(name).set(up)
        if up != self._was_up:
            if up:
                log.info("%s: %s %s answers", name, self.scraper.engine, self.scraper.version or "")
            else:
                log.warning("%s: %s", name, result.scrape.error)
            self._was_up = up
        if self.ticker is not None and self.ticker.pace is not None:
            self.metrics.missed.labels(self.ticker.name).set(self.ticker.pace.missed)
        if not up:
            self.metrics.errors.labels(name, result.kind).inc()
            return
        self.metrics.seconds.labels(name).set(result.seconds)
        self.metrics.page_bytes.labels(name).set(result.bytes)
        self.metrics.page_series.labels(name).set(result.series)
        if result.anomalies:
            self.metrics.anomalies.labels(name).inc(result.anomalies)
        if result.resets:
            self.metrics.resets.labels(name).inc(result.resets)
        self._resets = [*self._resets[1 - WINDOW :], result.resets > 0]
        self.metrics.alternating.labels(name).set(sum(self._resets) >= ALTERNATING)


def _gpus_apart(result: Result) -> tuple[Result, tuple[dict[str, object], ...]]:
    """Return a DCGM scrape without its GPU values, and these as rows; any other scrape as it is."""
    scrape = result.scrape
    if scrape.target.engine != DCGM.engine or not scrape.increments:
        return result, ()
    rows = tuple(row for found in scrape.increments for row in gpu_rows(found))
    bare = tuple(replace(found, gauges={}, counters={}) for found in scrape.increments)
    return replace(result, scrape=replace(scrape, increments=bare)), rows
