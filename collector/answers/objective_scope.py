"""Says what an objective asks of the store: its scope, limits and exclusions as parameters of slo_*.sql files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from math import inf

import numpy as np

from analytics.slo import DIMENSIONS, Objective
from collector.store.reader import Columns, Reader, as_datetime
from signals.lengths import LENGTH_BUCKETS

#: Dimension values in the order of analytics.slo.DIMENSIONS; None where the objective is not broken down by it.
Scope = tuple[str | None, ...]
#: SLI sources, best first in a model hour; the numbers are slo_counts.sql's.
SOURCES: Mapping[int, str] = {2: "gateway", 1: "log", 0: "engine"}


def scope_parameters(objective: Objective) -> dict[str, object]:
    """Return what every slo_*.sql file wants to know of an objective's scope."""
    only = {name: None if (kept := objective.only.get(name)) is None else list(kept) for name in DIMENSIONS}
    return {**only, **{f"by_{name}": name in objective.by for name in DIMENSIONS}}


def count_parameters(objective: Objective) -> dict[str, object]:
    """Return scope, limits by length bucket and exclusions as parameters of slo_counts.sql."""
    limits: dict[str, object] = {}
    by_metric = {threshold.metric: threshold for threshold in objective.thresholds}
    for metric in ("ttft", "tpot", "e2e"):
        threshold = by_metric.get(f"{metric}_seconds")
        limits[f"has_{metric}"] = threshold is not None
        limits[f"{metric}_limits"] = [
            None if threshold is None else threshold.limit(bucket) for bucket in (*LENGTH_BUCKETS, None)
        ]
    exclusions = [
        {
            "name": exclusion.name,
            "opens": exclusion.start,
            "closes": exclusion.end,
            **{f"{name}s": None if (kept := exclusion.only.get(name)) is None else list(kept) for name in DIMENSIONS},
        }
        for exclusion in objective.exclusions
    ]
    return {**scope_parameters(objective), **limits, "exclusions": exclusions, "buckets": list(LENGTH_BUCKETS)}


def pages_can_answer(objective: Objective) -> bool:
    """Say whether scraped histograms can stand in: whole models and one threshold that is the same for all lengths."""
    one = len(objective.thresholds) == 1 and not objective.thresholds[0].by_length
    return objective.model_wide and one


def counted_requests(
    reader: Reader, objective: Objective, starts: list[datetime], until: datetime, *, by_minute: bool
) -> Columns:
    """Return the rows of slo_counts.sql; `starts` ascending."""
    return reader.columns(
        "slo_counts",
        **count_parameters(objective),
        since=starts[0],
        until=until,
        starts=starts,
        by_minute=by_minute,
        by_first_token=objective.clock == "first_token",
    )


def counted_pages(
    reader: Reader, objective: Objective, starts: list[datetime], until: datetime, *, by_minute: bool
) -> Columns | None:
    """Return the rows of slo_edge_counts.sql, None where pages cannot answer the objective."""
    if not pages_can_answer(objective):
        return None
    only = objective.thresholds[0]
    return reader.columns(
        "slo_edge_counts",
        model=scope_parameters(objective)["model"],
        by_model="model" in objective.by,
        since=starts[0],
        until=until,
        starts=starts,
        by_minute=by_minute,
        by_first_token=objective.clock == "first_token",
        metric=only.metric,
        threshold=only.at_most_seconds,
    )


def model_scope(objective: Objective, model: object) -> Scope:
    """Return the scope that names a model alone, or nothing where the objective is not by model."""
    named = str(model) if "model" in objective.by and model is not None else None
    return (named, *(None for _ in DIMENSIONS[1:]))


def moment_of(value: np.generic) -> datetime | None:
    """Return a datetime64 as an aware datetime, None for NaT."""
    return None if np.isnat(value) else as_datetime(value)


def just_after(moment: datetime) -> datetime:
    """Return the open end of a window that includes `moment`."""
    return moment + timedelta(microseconds=1)


def share(part: float, whole: float) -> float | None:
    """Return part / whole, None where the whole is nothing or unknown."""
    return None if not whole or whole != whole or whole == inf else part / whole
