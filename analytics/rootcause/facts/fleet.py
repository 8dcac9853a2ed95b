"""Which instances served, which came and went, and how traffic was shared; never how fast they were."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analytics.rootcause.leaves import Columns
from analytics.rootcause.scene import Scene

#: An instance is gone when its share of requests falls below this part of what it was, and new the other way round.
GONE = 0.35
#: Below this part of it an instance is gone whatever the others do.
SILENT = 0.05
#: Starts this long before the onset may still be warming up.
YOUNG_SECONDS = 1200.0


@dataclass(frozen=True, slots=True)
class Fleet:
    """Shares of requests by instance before and during; `gone` and `new` are instances; regions likewise."""

    shares: dict[str, tuple[float, float]]
    gone: tuple[str, ...]
    new: tuple[str, ...]
    started: tuple[str, ...]
    stopped: tuple[str, ...]
    regions_gone: tuple[str, ...]

    @property
    def lost_share(self) -> float:
        """Return the share of the traffic that the gone instances used to serve."""
        return sum(self.shares[name][0] for name in self.gone if name in self.shares)

    @property
    def serving_before(self) -> int:
        return sum(1 for before, _ in self.shares.values() if before > 0)

    @property
    def serving_during(self) -> int:
        return sum(1 for _, during in self.shares.values() if during > 0) - sum(
            1 for name in self.gone if self.shares.get(name, (0.0, 0.0))[1] > 0
        )


def fleet_of(scene: Scene) -> Fleet | None:
    """Return who served; None where no request and no page names an instance."""
    shares = scene.requests.shares("instance")
    known = sum(before for before, _ in shares.values()), sum(during for _, during in shares.values())
    if not shares or min(known) < 0.5:
        shares = _shares_from_pages(scene)
    if not shares:
        return None
    even = 1.0 / len(shares)
    # Where one draws what the others had, all of these have less of the whole, and none is gone.
    kept = _kept_by_peers(shares)
    gone = tuple(
        n
        for n, (before, during) in shares.items()
        if before > 0.15 * even and during < max(GONE * kept, SILENT) * before
    )
    new = tuple(n for n, (before, during) in shares.items() if during > 0.1 * even and before < 0.1 * GONE * during)
    started, stopped = _lives(scene)
    regions = scene.requests.shares("region")
    lost = tuple(n for n, (before, during) in regions.items() if before > 0.05 and during < GONE * before)
    return Fleet(shares, gone, new, started, stopped, lost)


def _kept_by_peers(shares: dict[str, tuple[float, float]]) -> float:
    """Return which part of its share the instance that kept most but one kept, at most 1."""
    kept = sorted(during / before for before, during in shares.values() if before > 0)
    return min(kept[-2], 1.0) if len(kept) > 2 else 1.0


def fresh(fleet: Fleet) -> tuple[str, ...]:
    """Return instances that started shortly before or during the incident, by their record or by first traffic."""
    return tuple(dict.fromkeys((*fleet.started, *fleet.new)))


def _shares_from_pages(scene: Scene) -> dict[str, tuple[float, float]]:
    panel = scene.engine
    found = {}
    work = panel.values.get("first_tokens")
    if work is None or not np.isfinite(work).any():
        return {}
    before, during = np.nansum(work[:, panel.before]), np.nansum(work[:, panel.during])
    for row, name in enumerate(panel.sources):
        found[name] = (
            float(np.nansum(work[row, panel.before]) / max(before, 1e-9)),
            float(np.nansum(work[row, panel.during]) / max(during, 1e-9)),
        )
    return found


def _lives(scene: Scene) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (started, stopped) near the incident, from the lives of instances."""
    lives = scene.observations.instances
    if not lives or not len(lives["instance"]):
        return (), ()
    seen = scene.observations
    early = seen.start - np.timedelta64(int(YOUNG_SECONDS), "s")
    started = _between(lives, "started_at", early, seen.end) | _between(lives, "ready_at", early, seen.end)
    first = seen.start - np.timedelta64(600, "s")
    stopped = _between(lives, "stopped_at", first, seen.end) | _between(lives, "draining_at", first, seen.end)
    names = lives["instance"]
    return tuple(str(n) for n in names[started]), tuple(str(n) for n in names[stopped])


def _between(
    lives: Columns, column: str, low: np.datetime64, high: np.datetime64
) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    times = lives[column].astype("datetime64[us]")
    return np.asarray(~np.isnat(times) & (times >= low) & (times <= high), dtype=bool)
