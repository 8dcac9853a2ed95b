"""Puts the agent together and runs it: loops, receiver, spool, shipper, own pages; starts, reloads and stops them."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from agent.config import Config
from agent.configfile import Loaded
from agent.delivery import Delivery
from agent.fetch import Fetcher
from agent.gpus.nvml import Driver
from agent.health import Check, Health
from agent.httpserver import Server, serve
from agent.lifecycle import Lifecycle
from agent.log import log
from agent.machine import Machine
from agent.outputs.otlp import OtlpExporter
from agent.outputs.totals import Totals
from agent.requestlogs.watch import RequestLog
from agent.roster import Roster
from agent.schedule import Ticker
from agent.scrape import instance_of, named
from agent.selfmetrics import SelfMetrics
from agent.spans import SpanReceiver
from agent.spool import Spool
from agent.targets.form import Discovery
from agent.targets.registry import discoveries
from signals.errors import SloscopeError, StoreError
from signals.records import Scrape

ALIVE_SECONDS = 30.0
HOUSEKEEPING_SECONDS = 5.0
#: So long a stop waits for scrapes that are under way, all together.
LOOP_SECONDS = 0.5


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
        self.roster = Roster(
            self.host, config.limits, self.spool, self.metrics, world.clock, world.wall_ns, self._heard
        )
        self.delivery = Delivery(self.spool, self.metrics, world.wall_ns, world.clock)
        self.span_server: Server | None = None
        self.own_server: Server | None = None
        self._keeper: Ticker | None = None
        self._lock = threading.RLock()
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
        self.delivery.start(self.config.collector)
        exempt = frozenset(self.config.spans.keep_attributes)
        receiver = SpanReceiver(
            self.spool, self.roster.senders, self._spans, exempt, self._alias, self.lifecycle.loaded
        )
        if self.config.spans.listen is not None:
            self.span_server = serve(self.config.spans.listen, receiver.answer, self.config.spans.max_bytes, "spans")
        health = Health(self.metrics, lambda: self.totals, self.alive, self.checks, self.refresh, self._plain)
        if self.config.agent.listen is not None:
            self.own_server = serve(self.config.agent.listen, health.answer, 1_000_000, "own pages")
        self.machine.start()
        self.roster.found("static", self.config.targets)
        self._start_logs()
        self._start_searches()
        self._start_outputs()
        self.metrics.reloaded.set(1)
        self.metrics.reloaded_at.set(self.world.wall_ns() / 1e9)
        self._keeper = self._ticker("housekeeping", HOUSEKEEPING_SECONDS, self._keep_house).start()

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
        log.info("configuration reloaded: %d targets", len(self.roster.loops))
        return True

    def _take(self, config: Config) -> None:
        """Replace the settings; only what changed is started anew."""
        old, self.config = self.config, config
        if config.agent != old.agent or config.spans != old.spans:
            log.warning("changes of `agent` and `spans` take effect at the next start")
        if config.collector != old.collector:
            self.delivery.start(config.collector)
        if config.limits != old.limits:
            self.roster.limit(config.limits)
        self.roster.found("static", config.targets)
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
        self.roster.stop()
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
        self.roster.wait(LOOP_SECONDS)
        self.delivery.stop(self.config.agent.stop_seconds)
        self.spool.close()

    def alive(self) -> bool:
        """Return whether the scheduler moves; GPUs and targets have no say in it."""
        keeper = self._keeper
        return keeper is not None and self.world.clock() - keeper.beat < ALIVE_SECONDS

    def checks(self) -> list[Check]:
        """Return the named checks of readiness."""
        outcome, at = self.delivery.last
        failing, total = self.roster.failing(), len(self.roster.loops)
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

    def _heard(self, scrape: Scrape) -> None:
        if self.totals is not None:
            self.totals.add(scrape)
        name = scrape.target.instance
        loop = self.roster.loops.get(name)
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
            self.roster.configs,
            world.reexec,
            world.driver,
        )

    def _start_searches(self) -> None:
        for ticker in self._searches:
            ticker.stop()
        wanted = discoveries(self.config, self.world.env)
        for source in self.roster.sources():
            if source != "static" and source not in wanted:
                self.roster.found(source, ())
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
        if self.roster.told(source) != configs:
            self.roster.found(source, configs)

    def _keep_house(self) -> None:
        """Supervise: a shipping thread that died is started again, and so is an agent that grew too large."""
        limit = self.config.agent.memory_max_bytes
        if limit and self.world.resident() > limit:
            log.error("over agent.memory_max_bytes: %d bytes", limit)
            self.world.reexec()
        self.delivery.supervise()

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

    def _exported(self, outcome: str) -> None:
        self.metrics.exports.labels(outcome).inc()

    def _plain(self) -> dict[str, object]:
        from agent.configshow import plain

        return plain(self.config)
