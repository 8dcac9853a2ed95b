"""Answers what a latency's quantiles are over a window: exact from requests, bins where many, intervals from pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from analytics.slo import DIMENSIONS, Objective, Quantile, quantiles_of_bins, quantiles_of_edges, quantiles_of_records
from collector.answers.objective_scope import Scope, scope_parameters
from collector.store.reader import Columns, Reader
from signals.bins import LN_GAMMA, ZERO_BIN

#: Above this many requests quantiles come from bins (within 1 %) instead of every value.
EXACT_LIMIT = 200_000


@dataclass(frozen=True, slots=True)
class ScopeQuantiles:
    """Quantiles of one scope and what they were read from: records, bins or edges."""

    quantiles: tuple[Quantile, ...]
    basis: str


def request_quantiles(
    reader: Reader,
    objective: Objective,
    start: datetime,
    until: datetime,
    *,
    qs: Sequence[float] = (0.5, 0.99),
    binned: bool = False,
    bins_before: datetime | None = None,
) -> dict[Scope, ScopeQuantiles]:
    """Return quantiles of the objective's shown metric over [start, until) by scope, from recorded requests.

    `bins_before` (a whole hour) reads stored hourly bins up to there and raw requests after, for windows that reach
    back further than raw requests are kept; the whole is then binned.
    """
    binned = binned or bins_before is not None
    metric = shown_metric(objective)
    scope = scope_parameters(objective)
    parts: list[Columns] = []
    if bins_before is not None:
        parts.append(reader.columns("slo_latency_bins", **scope, metric=metric, since=start, until=bins_before))
    parts.append(
        reader.columns(
            "slo_values",
            **scope,
            metric=metric,
            since=bins_before or start,
            until=until,
            by_first_token=metric == "ttft_seconds",
            binned=binned,
            ln_gamma=LN_GAMMA,
            zero_bin=ZERO_BIN,
        )
    )
    basis = "bins" if binned else "records"
    return {
        key: ScopeQuantiles(
            quantiles_of_bins(cells.astype(np.int64), counts, qs)
            if binned
            else quantiles_of_records(np.repeat(cells, counts), qs),
            basis,
        )
        for key, cells, counts in _by_scope(parts)
    }


def page_quantiles(
    reader: Reader, objective: Objective, start: datetime, end: datetime, *, qs: Sequence[float] = (0.5, 0.99)
) -> dict[Scope, ScopeQuantiles]:
    """Return certain intervals by model over the scrapes in (start, end], from engines' pages."""
    columns = reader.columns(
        "slo_edge_bins",
        metric=shown_metric(objective),
        since=start,
        until=end,
        model=scope_parameters(objective)["model"],
        by_model="model" in objective.by,
    )
    found = {}
    models = columns["model"].tolist()
    for model in dict.fromkeys(models):
        place = np.array([name == model for name in models])
        quantiles = quantiles_of_edges(
            columns["edge_lo"][place].astype(np.float64),
            columns["edge_hi"][place].astype(np.float64),
            columns["count"][place].astype(np.int64),
            qs,
        )
        found[(model, *(None for _ in DIMENSIONS[1:]))] = ScopeQuantiles(quantiles, "edges")
    return found


def shown_metric(objective: Objective) -> str:
    """Return which latency stands for an objective on a screen: its first threshold's, else the whole request's."""
    return objective.thresholds[0].metric if objective.thresholds else "e2e_seconds"


def _by_scope(parts: Sequence[Columns]) -> list[tuple[Scope, np.ndarray, np.ndarray]]:
    """Return (scope, cells, counts) of rows that carry the six dimensions, with `cell` and `count` columns."""
    gathered: dict[Scope, list[tuple[float, int]]] = {}
    for columns in parts:
        keys = zip(*(columns[name].tolist() for name in DIMENSIONS), strict=True)
        rows = zip(columns["cell"].tolist(), columns["count"].tolist(), strict=True)
        for key, row in zip(keys, rows, strict=True):
            gathered.setdefault(key, []).append(row)
    return [
        (key, np.array([cell for cell, _ in rows], dtype=np.float64), np.array([n for _, n in rows], dtype=np.int64))
        for key, rows in gathered.items()
    ]
