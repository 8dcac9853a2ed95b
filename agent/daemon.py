"""Puts the agent together and runs it: loops, receiver, spool, shipper, own pages; starts, reloads and stops them."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agent.config import Config, TargetConfig
from agent.configfile import Loaded
from agent.encode import Encoder
from agent.fetch import Fetcher
from agent.gpus.nvml import Driver
from agent.health import Check, Health
from agent.httpserver import Server, serve
from agent.lifecycle import Lifecycle
from agent.log import log
from agent.loop import TargetLoop
from agent.machine import Machine
from agent.outputs.otlp import OtlpExporter
from agent.outputs.totals import Totals
from agent.requestlogs.watch import RequestLog
from agent.schedule import Ticker
from agent.scrape import Scraper, instance_of, named
from agent.selfmetrics import SelfMetrics
from agent.sender import sender_of
from agent.ship import Shipper
from agent.spans import Sender, SpanReceiver
from agent.spool import Spool
from agent.targets.form import Discovery
from agent.targets.registry import discoveries
from signals.errors import SloscopeError, StoreError
from signals.records import Scrape

ALIVE_SECONDS = 30.0
HOUSEKEEPING_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class World:
    """What the daemon takes from outside: clocks, environment, the host's name; tests bring their own."""

    wall_ns: Callable[[], int] = time.time_ns
    clock: Callable[[], float] = time.monotonic
    env: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    hostname: Callable[[], str] = socket.gethostname
    driver: Driver | None = None
    reexec: Callable[[], None] = lambda: None
    resident: Callable[[], int] = lambda: 0


class Daemon:
    """The running agent. `load` reads the configuration again for a reload."""

    def __init__(self, config: Config, world: World, load: Callable[[], Loaded[Config]] | None = None) -> None:
        self.config = config
        self.world = world
        self.load = load
        self.metrics = SelfMetrics()
        self.totals = Totals() if config.outputs.prometheus or config.outputs.otlp else None
        self.stopping = threading.Event()
        name = config.agent.name or world.hostname()
        self.host = config.agent.host or world.hostname()
        self.spool = Spool(
            Path(config.agent.spool),
            name,
            os.urandom(8).hex(),
            config.agent.spool_max_bytes,
            config.agent.spool_max_age_seconds,
            world.wall_ns,
            self._lost,
        )
        self.encoder = Encoder()
        self.loops: dict[str, TargetLoop] = {}
        self.span_server: Server | None = None
        self.own_server: Server | None = None
        self._found: dict[str, tuple[TargetConfig, ...]] = {}
        self._shipping: threading.Thread | None = None
        self._shipper: Shipper | None = None
        self._keeper: Ticker | None = None
        self._lock = threading.RLock()
        self._last_delivery: tuple[str, float] = ("none yet", 0.0)
        self._reload_ok = True
        self.lifecycle = Lifecycle()
        self._searches: list[Ticker] = []
        self._outputs: list[Ticker] = []
        self.logs: list[RequestLog] = []
        self._aliases: dict[str, str] = {}
        self.machine = self._new_machine()

    def start(self) -> None:
        """Start everything. Raise StoreError, ConfigError or OSError when it cannot."""
        self.spool.open()
        self._start_shipping()
        exempt = frozenset(self.config.spans.keep_attributes)
        receiver = SpanReceiver(self.spool, self.senders, self._spans, exempt, self._alias, self.lifecycle.loaded)
        if self.config.spans.listen is not None:
            self.span_server = serve(self.config.spans.listen, receiver.answer, self.config.spans.max_bytes, "spans")
        health = Health(self.metrics, lambda: self.totals, self.alive, self.checks, self.refresh, self._plain)
        if self.config.agent.listen is not None:
            self.own_server = serve(self.config.agent.listen, health.answer, 1_000_000, "own pages")
        self.machine.start()
        self.found("static", self.config.targets)
        self._start_logs()
        self._start_searches()
        self._start_outputs()
        self.metrics.reloaded.set(1)
        self.metrics.reloaded_at.set(self.world.wall_ns() / 1e9)
        self._keeper = self._ticker("housekeeping", HOUSEKEEPING_SECONDS, self._keep_house).start()

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

    def reload(self) -> bool:
        """Read the configuration again; keep the old one when the new one is wrong. Return whether it was taken."""
        if self.load is None:
            return False
        try:
            config = self.load().config
        except (SloscopeError, OSError) as error:
            log.error("configuration not reloaded, the old one stays: %s", error)
            self.metrics.reloaded.set(0)
            self._reload_ok = False
            return False
        with self._lock:
            self._take(config)
        self.metrics.reloaded.set(1)
        self.metrics.reloaded_at.set(self.world.wall_ns() / 1e9)
        self._reload_ok = True
        log.info("configuration reloaded: %d targets", len(self.loops))
        return True

    def _take(self, config: Config) -> None:
        """Replace the settings; only what changed is started anew."""
        old, self.config = self.config, config
        if config.agent != old.agent or config.spans != old.spans:
            log.warning("changes of `agent` and `spans` take effect at the next start")
        if config.collector != old.collector:
            self._start_shipping()
        if config.limits != old.limits:
            for loop in self.loops.values():
                loop.retire()
            self.loops.clear()
        self.found("static", config.targets)
        if config.requests != old.requests:
            self._start_logs()
        if config.discovery != old.discovery:
            self._start_searches()
        if (config.gpu, config.host) != (old.gpu, old.host):
            self.machine.stop()
            self.machine = self._new_machine()
            self.machine.start()
        if config.outputs != old.outputs:
            self._start_outputs()

    def stop(self) -> None:
        """Stop everything; what could not be delivered in time stays on disk. Never waits for a hung thread."""
        self.stopping.set()
        with self._lock:
            loops = list(self.loops.values())
        for loop in loops:
            loop.stop()
        for ticker in (*self._searches, *self._outputs):
            ticker.stop()
        for source in self.logs:
            source.stop()
        if self._keeper is not None:
            self._keeper.stop()
        self.machine.stop()
        for server in (self.span_server, self.own_server):
            if server is not None:
                server.stop()
        deadline = self.world.clock() + 0.5
        for loop in loops:
            if loop.ticker is not None:
                loop.ticker.join(max(0.0, deadline - self.world.clock()))
        shipper = self._shipper
        if shipper is not None:
            shipper.stopping.set()
            self.spool.fresh.set()
            deadline = self.world.clock() + self.config.agent.stop_seconds
            if self._shipping is not None:
                self._shipping.join(max(0.0, deadline - self.world.clock()))
            if self._shipping is None or not self._shipping.is_alive():
                shipper.flush(deadline - self.world.clock(), self.world.clock)
        self.spool.close()

    def senders(self) -> list[Sender]:
        """Return the targets as senders of spans."""
        with self._lock:
            scrapers = [loop.scraper for loop in self.loops.values()]
        return [sender_of(scraper) for scraper in scrapers]

    def alive(self) -> bool:
        """Return whether the scheduler moves; GPUs and targets have no say in it."""
        keeper = self._keeper
        return keeper is not None and self.world.clock() - keeper.beat < ALIVE_SECONDS

    def checks(self) -> list[Check]:
        """Return the named checks of readiness."""
        outcome, at = self._last_delivery
        with self._lock:
            failing = [loop.scraper.instance for loop in self.loops.values() if loop.failing]
            total = len(self.loops)
        checks = [
            Check("scheduler", self.alive(), f"{total} targets"),
            Check("config", self._reload_ok, "last reload" if self.load else "loaded once", required=False),
            Check("targets", not failing, ", ".join(failing[:5]) or "all answer", required=False),
        ]
        try:
            backlog = self.spool.backlog()
            checks.append(Check("spool", True, f"{backlog.batches} batches, {backlog.bytes} bytes wait"))
        except StoreError as error:
            checks.append(Check("spool", False, error.message))
        if self.config.collector.url is not None:
            ago = f", {self.world.clock() - at:.0f} s ago" if at else ""
            checks.append(
                Check("collector", outcome == "ok" or not at, f"last delivery: {outcome}{ago}", required=False)
            )
        return checks

    def refresh(self) -> None:
        """Bring the gauges that are read from elsewhere up to date."""
        try:
            backlog = self.spool.backlog()
            self.metrics.refused.set(self.spool.dead())
        except StoreError:
            return
        self.metrics.waiting.set(backlog.batches)
        self.metrics.waiting_bytes.set(backlog.bytes)
        age = 0.0 if backlog.oldest_ns is None else (self.world.wall_ns() - backlog.oldest_ns) / 1e9
        self.metrics.waiting_seconds.set(age)

    def _add(self, name: str, config: TargetConfig) -> None:
        try:
            scraper = Scraper(config, self.config.limits, self.host, Fetcher(config.tls), self.world.wall_ns)
        except SloscopeError as error:
            log.error("%s is not scraped: %s", config.url, error)
            self.metrics.faults.labels(f"scrape {name}").inc()
            return
        loop = TargetLoop(scraper, self.spool, self.encoder, self.metrics, self.world.clock, self._heard)
        self.loops[name] = loop.start()

    def _heard(self, scrape: Scrape) -> None:
        if self.totals is not None:
            self.totals.add(scrape)
        name = scrape.target.instance
        loop = self.loops.get(name)
        if loop is not None:
            loop.scraper.gpus = self.machine.gpus_of(name)
        rows = self.lifecycle.observe(scrape, self.machine.known(name))
        if rows:
            self.machine.write("instances", {"instances": tuple(rows)})

    def _new_machine(self) -> Machine:
        world = self.world
        return Machine(
            self.config,
            self.host,
            self.spool,
            self.metrics,
            world.clock,
            world.wall_ns,
            self._configs,
            world.reexec,
            world.driver,
        )

    def _configs(self) -> list[TargetConfig]:
        with self._lock:
            return [loop.scraper.config for loop in self.loops.values()]

    def _start_searches(self) -> None:
        for ticker in self._searches:
            ticker.stop()
        wanted = discoveries(self.config, self.world.env)
        for source in [source for source in self._found if source != "static" and source not in wanted]:
            self.found(source, ())
        self._searches = []
        for source, search in wanted.items():
            step = partial(self._search, source, search)
            self._searches.append(self._ticker(f"discovery {source}", search.refresh_seconds, step).start())

    def _start_logs(self) -> None:
        for source in self.logs:
            source.stop()
        exempt = frozenset(self.config.spans.keep_attributes)
        self.logs = [
            RequestLog(config, self.spool, self.metrics, self.world.clock, exempt).start()
            for config in self.config.requests
        ]

    def _start_outputs(self) -> None:
        for ticker in self._outputs:
            ticker.stop()
        outputs = self.config.outputs
        if self.totals is None and (outputs.prometheus or outputs.otlp):
            self.totals = Totals()
        self._outputs = []
        for output in outputs.otlp:
            assert self.totals is not None
            exporter = OtlpExporter(output, self.totals.accounts, self._exported, Fetcher(output.tls))
            self._outputs.append(self._ticker(f"otlp {output.url}", output.interval_seconds, exporter.export).start())

    def _search(self, source: str, search: Discovery) -> None:
        """Ask one discovery; while it cannot answer, its targets stay."""
        try:
            found = search.find()
        except SloscopeError as error:
            self.metrics.discovery_errors.labels(source).inc()
            log.warning("discovery %s: %s", source, error)
            return
        self.machine.pods.update({instance_of(one.config): one.life for one in found if one.life is not None})
        configs = tuple(named(one.config, self.host) for one in found)
        if self._found.get(source) != configs:
            self.found(source, configs)

    def _start_shipping(self) -> None:
        if self._shipper is not None:
            self._shipper.stopping.set()
            self.spool.fresh.set()
        config = self.config.collector
        if config.url is None:
            self._shipper = None
            return
        self._shipper = Shipper(
            config,
            self.spool,
            Fetcher(config.tls),
            self.world.wall_ns,
            self._delivered,
            threading.Event(),
            offset=self.metrics.clock_offset.set,
        )
        self._shipping = threading.Thread(target=self._shipper.run, name="shipping", daemon=True)
        self._shipping.start()

    def _keep_house(self) -> None:
        """Supervise: a shipping thread that died is started again, and so is an agent that grew too large."""
        limit = self.config.agent.memory_max_bytes
        if limit and self.world.resident() > limit:
            log.error("over agent.memory_max_bytes: %d bytes", limit)
            self.world.reexec()
        thread = self._shipping
        if self._shipper is not None and thread is not None and not thread.is_alive() and not self.stopping.is_set():
            self.metrics.faults.labels("shipping").inc()
            log.error("the shipping thread died; it is started again")
            self._start_shipping()

    def _ticker(self, name: str, seconds: float, step: Callable[[], None]) -> Ticker:
        return Ticker(name, seconds, step, self.world.clock, lambda task: self.metrics.faults.labels(task).inc())

    def _lost(self, reason: str, batches: int) -> None:
        self.metrics.dropped.labels(reason).inc(batches)
        log.warning("%d batches dropped: %s", batches, reason)

    def _spans(self, kind: str, number: int) -> None:
        self.metrics.spans.labels(kind).inc(number)

    def _alias(self, alias: str, instance: str) -> None:
        """Tell the store another name of an instance, once in this life of the agent."""
        if self._aliases.get(alias) != instance:
            self._aliases[alias] = instance
            self.machine.write("aliases", {"instance_aliases": ({"alias": alias, "instance": instance},)})

    def _delivered(self, outcome: str, batches: int, size: int, seconds: float) -> None:
        self.metrics.deliveries.labels(outcome).inc()
        self._last_delivery = (outcome, self.world.clock())
        if outcome == "ok":
            self.metrics.delivered.inc(batches)
            self.metrics.delivered_bytes.inc(size)
            self.metrics.delivery_seconds.set(seconds)

    def _exported(self, outcome: str) -> None:
        self.metrics.exports.labels(outcome).inc()

    def _plain(self) -> dict[str, object]:
        from agent.configshow import plain

        return plain(self.config)
