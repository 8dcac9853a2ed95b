"""What the agent says about itself, as `sloscope_agent_*` metrics; holds no signal of any engine."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector
from prometheus_client.exposition import generate_latest

PREFIX = "sloscope_agent_"
Kind = Literal["counter", "gauge"]


def agent_version() -> str:
    """Return the installed version."""
    try:
        return version("sloscope")
    except PackageNotFoundError:
        return "unknown"


class SelfMetrics:
    """The agent's own metrics in a registry of their own; safe for threads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self.registry)
        gauge, counter = self._gauge, self._counter
        self.build = gauge("build_info", "Version of this agent", "version")
        self.build.labels(agent_version()).set(1)
        self.up = gauge("scrape_up", "Whether the last scrape of an instance was good", "instance")
        self.scrapes = counter("scrapes", "Scrapes by state: ok, failed, frozen, gone", "instance", "state")
        self.errors = counter("scrape_errors", "Failed scrapes by kind of error", "instance", "kind")
        self.seconds = gauge("scrape_duration_seconds", "Duration of the last good scrape", "instance")
        self.page_bytes = gauge("page_bytes", "Size of the last good page", "instance")
        self.page_series = gauge("page_series", "Series on the last good page", "instance")
        self.anomalies = counter("parse_anomalies", "Lines of pages that are no samples", "instance")
        self.resets = counter("counter_resets", "Series that fell: restarts of an engine", "instance")
        self.alternating = gauge(
            "multiprocess_suspected",
            "Counters that fall at every other scrape: worker processes not merged",
            "instance",
        )
        self.spans = counter("spans", "Spans: spans, stripped attributes, unattributed, ignored, broken bodies", "kind")
        self.log_files = gauge("request_log_files", "Files that a pattern of request logs matches", "path")
        self.log_lines = counter(
            "request_log_lines", "Lines of request logs: request, other, bad, too_long", "path", "outcome"
        )
        self.log_unread = gauge("request_log_unread_bytes", "Bytes of request logs that were not read yet", "path")
        self.deliveries = counter("deliveries", "Attempts to deliver: ok, failed, refused", "outcome")
        self.delivered = counter("delivered_batches", "Batches that the collector took")
        self.delivered_bytes = counter("delivered_bytes", "Compressed bytes that the collector took")
        self.delivery_seconds = gauge("delivery_duration_seconds", "Duration of the last delivery")
        self.dropped = counter("dropped_batches", "Batches lost: full, old, disk_full, corrupt, unwritten", "reason")
        self.waiting = gauge("spool_batches", "Batches that wait for delivery")
        self.waiting_bytes = gauge("spool_bytes", "Their size on disk")
        self.waiting_seconds = gauge("spool_oldest_age_seconds", "Age of the oldest of them")
        self.refused = gauge("dead_batches", "Batches that the collector refused for good")
        self.missed = gauge("missed_ticks", "Ticks that came too late and were skipped", "task")
        self.faults = counter("task_failures", "Unexpected errors inside a task", "task")
        self.targets = gauge("targets", "Targets by where they come from", "source")
        self.reloaded = gauge("config_last_reload_successful", "Whether the last reload was taken")
        self.reloaded_at = gauge("config_last_reload_success_timestamp_seconds", "When the last good reload was")
        self.discovery_errors = counter("discovery_errors", "Failed looks for targets", "source")
        self.gpus = gauge("gpus", "GPUs by state: ok, lost, hung", "state")
        self.gpm = gauge("gpu_gpm", "GPUs by state of their performance counters", "state")
        self.ticks = counter("gpu_ticks", "Ticks of a GPU", "gpu")
        self.tick_lag = gauge("gpu_tick_lag_seconds", "How late the last tick of a GPU was", "gpu")
        self.tick_seconds = gauge("gpu_tick_duration_seconds", "Duration of the last tick of a GPU", "gpu")
        self.clock_offset = gauge("clock_offset_seconds", "Collector's clock minus this one, from its Date header")
        self.exports = counter("otlp_exports", "Exports to further OTLP backends", "outcome")

    def page(self) -> bytes:
        """Return the text of the /metrics page."""
        return generate_latest(self.registry)

    def forget(self, instance: str) -> None:
        """Remove the series of an instance that is gone."""
        for metric in (self.up, self.seconds, self.page_bytes, self.page_series, self.alternating):
            if (instance,) in metric._metrics:  # the library has no other way to ask
                metric.remove(instance)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(PREFIX + name, text, labels, registry=self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(PREFIX + name, text, labels, registry=self.registry)
