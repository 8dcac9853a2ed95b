"""Lines recorded changes up with an onset by lag and scope, and how often chance would; never calls one a cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp

import numpy as np

from analytics.rootcause.leaves import Columns

#: A change may be logged up to 2 minutes after it took effect, and may need 15 minutes to show.
EARLIEST_LAG_SECONDS = -120.0
LATEST_LAG_SECONDS = 900.0
#: Weight of a lag falls by e in 5 minutes.
LAG_SCALE_SECONDS = 300.0
SCOPES = ("model_version", "pool", "instance", "region", "tenant")


@dataclass(frozen=True, slots=True)
class AlignedChange:
    """A change near the onset: `weight` 0..1 from lag and scope; `placebo` = chance of one this close."""

    ts: np.datetime64
    kind: str
    summary: str
    scope: Mapping[str, str]
    lag_seconds: float
    weight: float
    placebo: float
    external_id: str | None

    def as_json(self) -> dict[str, object]:
        return {
            "ts": f"{self.ts.astype('datetime64[us]').item().isoformat(timespec='milliseconds')}Z",
            "kind": self.kind,
            "summary": self.summary,
            "scope": dict(self.scope),
            "lag_seconds": round(self.lag_seconds, 1),
            "placebo_rate": round(self.placebo, 4),
            "external_id": self.external_id,
        }


def align(changes: Columns, onset: np.datetime64, segment: Mapping[str, str]) -> list[AlignedChange]:
    """Return the changes whose lag to `onset` is plausible, heaviest first.

    The placebo is 1 - exp(-rate · lag window), with the rate of changes over the recorded span: on a day with forty
    deployments one of them always precedes.
    """
    if not changes or not len(changes["ts"]):
        return []
    seconds = (onset - changes["ts"].astype("datetime64[us]")).astype(np.int64) / 1e6
    span = max(float(seconds.max() - seconds.min()), 3600.0)
    rate = len(seconds) / span
    found = []
    for index in np.flatnonzero((seconds >= EARLIEST_LAG_SECONDS) & (seconds <= LATEST_LAG_SECONDS)):
        lag = float(seconds[index])
        scope = {
            name: str(changes[name][index]) for name in SCOPES if name in changes and changes[name][index] is not None
        }
        found.append(
            AlignedChange(
                changes["ts"][index],
                str(changes["kind"][index]),
                str(changes["summary"][index]),
                scope,
                lag,
                exp(-max(lag, 0.0) / LAG_SCALE_SECONDS) * overlap(scope, segment),
                1.0 - exp(-rate * (abs(lag) + 60.0)),
                None if changes["external_id"][index] is None else str(changes["external_id"][index]),
            )
        )
    return sorted(found, key=lambda item: -item.weight)


def overlap(scope: Mapping[str, str], segment: Mapping[str, str]) -> float:
    """Return how well a change's scope and a segment agree: 1 equal, 0.6 where one says nothing, 0.1 in conflict."""
    shared = [name for name in scope if name in segment]
    if any(scope[name] != segment[name] for name in shared):
        return 0.1
    if shared or (not scope and not segment):
        return 1.0
    return 0.6
