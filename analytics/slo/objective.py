"""What an objective is: thresholds, target, window and scope as frozen data; reads no file and counts nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256

from analytics.slo.alerting import BurnRule
from analytics.slo.exclusion import Exclusion
from signals.errors import ConfigError, nearest
from signals.lengths import LENGTH_BUCKETS

#: What a threshold may limit. The three are the keys of vLLM's `bench serve --goodput` (ttft, tpot, e2el).
METRICS: tuple[str, ...] = ("ttft_seconds", "tpot_seconds", "e2e_seconds")
#: What an objective may be scoped to or broken down by: the dimensions of the view objective_counts.
DIMENSIONS: tuple[str, ...] = ("model", "tenant", "length_bucket", "model_version", "region", "adapter")
DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Threshold:
    """One latency limit in seconds, inclusive; `by_length` overrides it for named length buckets.

    Without `at_most_seconds` only the named buckets are in the objective's scope.
    """

    metric: str
    at_most_seconds: float | None = None
    by_length: Mapping[str, float] = field(default_factory=dict)

    def limit(self, length_bucket: str | None) -> float | None:
        """Return the limit for a bucket, or None where the objective does not cover it.

        >>> Threshold("ttft_seconds", 2.0, {"64k-256k": 60.0}).limit("64k-256k")
        60.0
        """
        if length_bucket is None:
            return self.at_most_seconds
        return self.by_length.get(length_bucket, self.at_most_seconds)


@dataclass(frozen=True, slots=True)
class Objective:
    """A share `target` of the eligible requests in `window_seconds` must meet every threshold.

    `only` keeps requests whose dimension is one of the listed values; `by` makes one budget per value.
    No threshold at all is an availability objective: a request that was answered is good.
    `rules` None means the workbook's rules, capped so that each can fire at this target.
    """

    name: str
    thresholds: tuple[Threshold, ...] = ()
    target: float = 0.99
    window_seconds: int = 28 * DAY_SECONDS
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    by: tuple[str, ...] = ("model",)
    rules: tuple[BurnRule, ...] | None = None
    min_events: int = 20
    exclusions: tuple[Exclusion, ...] = ()
    service: str | None = None
    description: str = ""
    is_default: bool = False

    def __post_init__(self) -> None:
        faults = _faults(self)
        if faults:
            raise ConfigError(f"objective {self.name!r} is not valid", faults, objective=self.name)

    @property
    def metric(self) -> str:
        """Return the threshold's metric, "goodput" for several and "availability" for none."""
        if len(self.thresholds) > 1:
            return "goodput"
        return self.thresholds[0].metric if self.thresholds else "availability"

    @property
    def clock(self) -> str:
        """Return which moment dates an event: TTFT alone counts by first token, everything else by finish."""
        return "first_token" if self.metric == "ttft_seconds" else "finish"

    @property
    def model_wide(self) -> bool:
        """Say whether the scope is whole models, so that work known only from counters belongs to it."""
        return {*self.only, *self.by} <= {"model"}

    @property
    def revision(self) -> int:
        """Return a positive 31-bit number of what is counted; target, window and alerts do not change it."""
        counted = {
            "thresholds": [[t.metric, t.at_most_seconds, sorted(t.by_length.items())] for t in self.thresholds],
            "only": {key: sorted(values) for key, values in self.only.items()},
            "by": sorted(self.by),
            "exclusions": [exclusion.as_key() for exclusion in self.exclusions],
        }
        digest = sha256(json.dumps(counted, sort_keys=True).encode()).digest()
        return 1 + (int.from_bytes(digest[:4], "big") & 0x3FFFFFFF)


def default_objective() -> Objective:
    """Return the built-in objective: TTFT at most 2 s for 99 % of each model's requests over 28 days."""
    return Objective(
        "default-ttft",
        (Threshold("ttft_seconds", 2.0),),
        description="Built-in default: first token within 2 s for 99 % of requests",
        is_default=True,
    )


def _faults(objective: Objective) -> list[str]:
    found = []
    if not 0 < objective.target < 1:
        found.append(f"target: must lie between 0 and 1, both exclusive, not {objective.target:g}")
    if objective.window_seconds < 3600:
        found.append(f"window_seconds: at least one hour, not {objective.window_seconds}")
    if objective.min_events < 1:
        found.append(f"min_events: at least 1, not {objective.min_events}")
    found += [
        f"scope: unknown dimension {name!r}{nearest(name, DIMENSIONS)}"
        for name in (*objective.only, *objective.by)
        if name not in DIMENSIONS
    ]
    seen: set[str] = set()
    for threshold in objective.thresholds:
        if threshold.metric not in METRICS:
            found.append(f"thresholds: unknown metric {threshold.metric!r}{nearest(threshold.metric, METRICS)}")
        if threshold.metric in seen:
            found.append(f"thresholds: {threshold.metric} is limited twice")
        seen.add(threshold.metric)
        if threshold.at_most_seconds is None and not threshold.by_length:
            found.append(f"thresholds: {threshold.metric} has no limit")
        limits = [*threshold.by_length.values()]
        limits += [] if threshold.at_most_seconds is None else [threshold.at_most_seconds]
        if any(not 0 < limit < float("inf") for limit in limits):
            found.append(f"thresholds: a limit of {threshold.metric} must be a positive number of seconds")
        found += [
            f"thresholds: unknown length bucket {bucket!r}{nearest(bucket, LENGTH_BUCKETS)}"
            for bucket in threshold.by_length
            if bucket not in LENGTH_BUCKETS
        ]
    return found
