"""Gathers what is known about one incident so that causes can ask; computes no verdict of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from analytics.rootcause.changelog import AlignedChange, align
from analytics.rootcause.leaves import Columns, Leaves, leaves_of
from analytics.rootcause.localise import rank
from analytics.rootcause.mixture import Mixture, split
from analytics.rootcause.observations import Observations
from analytics.rootcause.panel import Panel, panel_of
from analytics.rootcause.requests import Requests, requests_of
from analytics.rootcause.segment import Contrast, Segment, contrasts, score_of
from analytics.rootcause.shift import Shift
from analytics.rootcause.stages import Stages, stages_of

ENGINE_SIGNALS = (
    "queue_depth", "queue_max", "running", "kv_usage_ratio", "kv_usage_max_ratio", "adapters_running",
    "adapters_waiting", "prompt_tokens", "generation_tokens", "prefix_query_tokens", "prefix_hit_tokens",
    "external_hit_tokens", "preemptions", "steps", "step_tokens", "step_seconds", "first_tokens", "finished",
    "rejected", "queue_seconds_sum", "prefill_seconds_sum", "spec_drafts", "spec_draft_tokens",
    "spec_accepted_tokens", "grammar_seconds", "kv_transfer_bytes", "kv_transfer_seconds", "queue_area",
    "running_peak", "running_low", "kv_low", "kv_peak", "queue_peak", "queue_last", "running_area", "bad_scrapes",
    "stalled",
)  # fmt: skip
GPU_SIGNALS = (
    "sm_active_ratio", "dram_bandwidth_ratio", "memory_busy_ratio", "power_watts", "temperature_celsius",
    "sm_clock_mhz", "memory_clock_mhz", "throttled", "ecc_uncorrected", "remapped_rows", "unwell", "nvlink_bytes",
)  # fmt: skip
HOST_SIGNALS = (
    "cpu_ratio", "cpu_pressure_ratio", "memory_pressure_ratio", "io_pressure_ratio", "engine_cpu_ratio",
    "nic_errors", "rdma_errors", "rdma_bytes", "disk_read_bytes_per_second",
)  # fmt: skip
#: A segment's dimension must reach this share of the best score to be told instead of it.
NEARLY_AS_GOOD = 0.85
#: How well a segment is taken to fit whose dimension no request tells.
UNTOLD_FIT = 0.6


@dataclass(frozen=True)
class Scene:
    """One incident: requests by cell, engines, GPUs, hosts, extra signals, lives of instances and changes."""

    observations: Observations

    @cached_property
    def requests(self) -> Requests:
        seen = self.observations
        seconds = {"before": seen.seconds_before, "during": seen.seconds_during}
        return requests_of(seen.cells, self._all_dimensions, seconds)

    @cached_property
    def _all_dimensions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.observations.dimensions, "instance", "tenant", "length_bucket")))

    @cached_property
    def engine(self) -> Panel:
        return self._panel(self.observations.engine, "instance", ENGINE_SIGNALS)

    @cached_property
    def gpus(self) -> Panel:
        return self._panel(self.observations.gpus, "instance", GPU_SIGNALS)

    @cached_property
    def hosts(self) -> Panel:
        return self._panel(self.observations.hosts, "host", HOST_SIGNALS)

    @cached_property
    def signals(self) -> Panel:
        """Extra signals; a source is `signal` or, for one instance, `signal|instance`."""
        return self._panel(self.observations.signals, "source", ("value",))

    def _panel(self, columns: Columns, source: str, signals: tuple[str, ...]) -> Panel:
        return panel_of(columns, source, signals, self.observations.before_steps, self.observations.during_steps)

    @cached_property
    def leaves(self) -> Leaves:
        seen = self.observations
        phase = seen.cells["phase"]
        before, during = phase == "before", phase == "during"
        table: dict[str, np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = {
            name: seen.cells[name] for name in seen.dimensions if name in seen.cells
        }
        for name, chosen in (("before", before), ("during", during)):
            table[f"n_{name}"] = np.where(chosen, seen.cells["events"], 0.0)
            table[f"bad_{name}"] = np.where(chosen, seen.cells["bad"], 0.0)
        return leaves_of(table, [name for name in seen.dimensions if name in seen.cells])

    @cached_property
    def _contrasts(self) -> tuple[Contrast, Contrast]:
        return contrasts(self.leaves)

    @cached_property
    def mixture(self) -> Mixture:
        return split(self.leaves, self.observations.seconds_before, self.observations.seconds_during)

    @cached_property
    def segments(self) -> list[Segment]:
        """Return where serving got worse, best first; empty where it did not."""
        return rank(self.leaves, self._contrasts[0], self.observations.overdispersion)

    @cached_property
    def mix_segments(self) -> list[Segment]:
        """Return which slower kinds of requests there are more of, best first."""
        return rank(self.leaves, self._contrasts[1], self.observations.overdispersion)

    @cached_property
    def growth_segments(self) -> list[Segment]:
        """Return which segments brought more requests per second, best first."""
        leaves = self.leaves
        scale = self.observations.seconds_during / max(self.observations.seconds_before, 1e-9)
        expected = leaves.n_before * scale
        return rank(leaves, Contrast(leaves.n_during, expected, np.maximum(leaves.n_during, expected), "mix"), 4.0)

    @cached_property
    def focus(self) -> dict[str, str]:
        """Return the segment that got worse most clearly; empty = everything."""
        return dict(self.segments[0].segment) if self.segments else {}

    def fit(self, segment: Mapping[str, str]) -> float:
        """Return how well a segment accounts for what got worse, against the best segment: 0..1.

        Where no request tells a dimension of it, it can be neither confirmed nor ruled out.
        """
        if not self.segments:
            return 0.0
        if segment and any(name in self._all_dimensions and not self.requests.levels(name) for name in segment):
            return UNTOLD_FIT
        best = max(self.segments[0].score, 1e-9)
        return float(np.clip(score_of(self.leaves, self._contrasts[0], dict(segment)).score / best, 0.0, 1.0))

    def recall(self, segment: Mapping[str, str]) -> float:
        """Return the segment's share of the excess bad events."""
        return score_of(self.leaves, self._contrasts[0], dict(segment)).recall

    def along(self, *dimensions: str) -> dict[str, str] | None:
        """Return the best segment that names only these dimensions, if it is nearly as good as the best of all."""
        if not self.segments:
            return None
        for found in self.segments:
            if found.segment and set(found.segment) <= set(dimensions):
                return dict(found.segment) if found.score >= NEARLY_AS_GOOD * self.segments[0].score else None
        return None

    @property
    def stretch(self) -> float:
        """Return the whole's bad share during ÷ before."""
        leaves = self.leaves
        before = (leaves.bad_before.sum() + 0.5) / (leaves.n_before.sum() + 1.0)
        return float(leaves.bad_during.sum() / max(leaves.n_during.sum(), 1.0) / before)

    @cached_property
    def stages(self) -> Stages | None:
        return stages_of(self.requests, self.engine, self.observations.metric)

    def stage_share(self, *stages: str) -> float | None:
        """Return the share of the extra time in these stages; None where stages are not told."""
        return None if self.stages is None else sum(self.stages.share(stage) for stage in stages)

    @cached_property
    def changes(self) -> list[AlignedChange]:
        return align(self.observations.changes, self.observations.start, self.focus)

    @cached_property
    def _admitted_and_waiting(self) -> float | None:
        """Return arrivals during ÷ before by pages: first tokens and the growth of queues.

        Requests are recorded when they finish, so in an overload those that came and still wait are missing.
        """
        first = self.engine.total("first_tokens")
        if first is None or first.before <= 0:
            return None
        steps = max(len(self.observations.during_steps), 1)
        return (first.during + self._waiting() / steps) / first.before

    def _waiting(self) -> float:
        """Return by how many the queues grew from the window's first steps to its highest, summed over instances."""
        panel = self.engine
        depth = panel.values["queue_depth"][:, panel.during]
        if not depth.size or not np.isfinite(depth).any():
            return 0.0
        total = np.nansum(depth, axis=0)
        return float(max(total[-max(len(total) // 10, 1) :].max() - total[0], 0.0))

    @cached_property
    def arrivals(self) -> Shift | None:
        """Return requests per second; the baseline is raised to yesterday's rate at this time, by a fifth at most."""
        found = self.requests.rate("requests")
        if found is not None and self.observations.from_pages:
            # Pages count first tokens; who still waits at the end has arrived as well.
            found = Shift(found.signal, found.before, found.during + self._waiting() / self.observations.seconds_during)
        if found is not None and not self.observations.from_pages:
            found = Shift(
                found.signal, found.before, max(found.during, found.before * (self._admitted_and_waiting or 0.0))
            )
        usual = self.observations.usual_rate
        if found is None or usual is None:
            return found
        return Shift(found.signal, max(found.before, min(usual, 1.2 * found.before)), found.during)
