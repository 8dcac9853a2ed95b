"""Forecasts the leaves of a model (tenant x length bucket) so that they sum to the whole; never more than was asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analytics.forecast import Event, coherent, default
from analytics.forecast.coherence import moved_bands
from analytics.forecast.forecaster import QUANTILES
from analytics.forecast.history import FloatArray
from collector.answers.demand import Demand, Leaf
from collector.answers.forecast_points import points

LOW, MIDDLE, HIGH = QUANTILES.index(0.1), QUANTILES.index(0.5), QUANTILES.index(0.9)


def parts_of(
    found: Demand,
    whole: FloatArray,
    count: int,
    steps: int,
    step_seconds: int,
    timezone: str,
    first_second: int,
    events: Sequence[Event] = (),
) -> list[dict[str, object]]:
    """Return the `count` largest leaves and the rest, each with points whose medians sum to that of `whole`.

    `whole` is the forecast of the whole (steps, quantiles). What only engine counters know of belongs to the rest.
    """
    largest = sorted(found.leaves, key=lambda leaf: -float(np.nansum(found.leaves[leaf])))[:count]
    series: dict[Leaf | None, FloatArray] = {leaf: found.leaves[leaf] for leaf in largest}
    named = np.nansum(list(series.values()), axis=0) if series else np.zeros(len(found.whole))
    rest = np.maximum(found.whole - named, 0.0)
    if np.nansum(rest) > 0:
        series[None] = rest
    paths = {
        leaf: default(step_seconds, timezone, events).fit(found.times, values).predict(steps)
        for leaf, values in series.items()
    }
    medians = np.stack([path[:, MIDDLE] for path in paths.values()])
    widths = np.stack([path[:, HIGH] - path[:, LOW] for path in paths.values()])
    # The whole stays: its forecast is the one that everybody sees, so its width counts as nothing.
    _, agreed = coherent(whole[:, MIDDLE], medians, np.zeros(len(whole)), widths)
    answer: list[dict[str, object]] = []
    for place, (leaf, path) in enumerate(paths.items()):
        tenant, bucket = leaf or (None, None)
        moved = moved_bands(path, medians[place], agreed[place])
        answer.append(
            {
                "tenant": tenant,
                "length_bucket": bucket,
                "rest": leaf is None,
                "points": points(moved, first_second, step_seconds),
            }
        )
    return answer
