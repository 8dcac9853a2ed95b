"""Everything `decide` may look at, as frozen records; holds figures and their origin, decides nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import isfinite, log, nan, sqrt

from analytics.scaling.mix import Mix
from analytics.scaling.pool import Pool
from analytics.scaling.settings import DEFAULT, Settings
from signals.startup import PHASES

#: Standard normal scores of the quantiles that a demand record carries.
_SCORES = (0.0, 1.2816, 2.3263, 3.0902)


@dataclass(frozen=True, slots=True)
class Demand:
    """Arrivals in requests per second: now, and quantiles at the horizon; NaN where unknown.

    `stay` is the highest q90 between now and the end of the shortest life worth starting: what a scale-down must
    still serve. `high` is the highest level of the last three hours.
    """

    now: float = nan
    q50: float = nan
    q90: float = nan
    q99: float = nan
    q999: float = nan
    stay: float = nan
    basis: str = "none"
    high: float = nan

    def at(self, quantile: float) -> float:
        """Return the demand at a quantile between 0.5 and 0.999."""
        return self.at_score(normal_score(quantile))

    def at_score(self, score: float) -> float:
        """Return the demand at a normal score (0 is the median), linear between the knots and beyond, never below 0."""
        knots = (self.q50, self.q90, self.q99, self.q999 if isfinite(self.q999) else 2 * self.q99 - self.q90)
        place = 0 if score <= _SCORES[1] else 1 if score <= _SCORES[2] else 2
        low, high = _SCORES[place], _SCORES[place + 1]
        value = knots[place] + (knots[place + 1] - knots[place]) * (score - low) / (high - low)
        return max(value, 0.0)  # an unknown value stays unknown


@dataclass(frozen=True, slots=True)
class Capacity:
    """Requests per second that one instance serves within the objectives, at the lengths of now or of the horizon."""

    value: float
    low: float
    high: float
    origin: str
    windows: int = 0
    #: Requests in flight per instance at that rate; NaN where not seen.
    in_flight: float = nan
    #: Relative change since the regime before, with its name; NaN where there is only one.
    drift: float = nan
    drift_since: str | None = None
    #: How the lengths expected at the horizon change it; None where that was not looked at.
    mix: Mix | None = None

    def at(self, mix: Mix) -> Capacity:
        """Return the capacity at the horizon's mix of lengths; only the note of it where the mix is not applied."""
        if not mix.applied:
            return replace(self, mix=mix)
        ends = self.low * mix.low, self.high * mix.high
        return replace(self, value=self.value * mix.planned, low=ends[0], high=ends[1], mix=mix)


@dataclass(frozen=True, slots=True)
class ColdStart:
    """Seconds from asking for an instance to its first useful token; `p95` is the forecast horizon.

    `phases` holds the median seconds of each phase that was seen.
    """

    p50: float
    p95: float
    lives: int
    origin: str
    phases: tuple[tuple[str, float], ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the record as plain JSON values; a phase that was not seen is None."""
        seen = dict(self.phases)
        return {
            "p50_seconds": round(self.p50, 3),
            "p95_seconds": round(self.p95, 3),
            "lives": self.lives,
            "from": self.origin,
            "phases": {name: round(seen[name], 3) if name in seen else None for name in PHASES},
        }


@dataclass(frozen=True, slots=True)
class Load:
    """What the engines show now, summed or averaged over the reporting instances; NaN where no engine says."""

    queue: float = nan
    running: float = nan
    kv_usage_ratio: float = nan
    ttft_seconds: float = nan
    ttft_before_seconds: float = nan
    ttft_objective_seconds: float = 2.0
    mean_latency_seconds: float = nan
    preemptions_per_second: float = nan


@dataclass(frozen=True, slots=True)
class Sight:
    """How well the pool is seen: times of the newest scrapes and how many instances report."""

    newest_good: datetime | None
    expected: int
    reporting: int
    failed: int = 0
    frozen: int = 0
    interval_seconds: float = 15.0
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pin:
    """A person's word: keep `instances` until `until`."""

    instances: int
    until: datetime
    by: str = "operator"


@dataclass(frozen=True, slots=True)
class Event:
    """A known future: demand is multiplied by `factor`, or at least `instances` are kept, between two times."""

    name: str
    start: datetime
    end: datetime
    factor: float = 1.0
    instances: int = 0


@dataclass(frozen=True, slots=True)
class Memory:
    """What the last decisions leave behind: needs of the recent past and the last change."""

    needs: tuple[tuple[datetime, int], ...] = ()
    #: Since when needs have been watched without a gap; None before the first decision.
    since: datetime | None = None
    changed_at: datetime | None = None
    changed_by: int = 0
    #: Normal score of the demand quantile that the error budget has taught so far, and when; NaN before the first.
    score: float = nan
    scored_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PoolState:
    """One pool at one moment. `current` counts what has been asked for, `ready` what serves."""

    pool: Pool
    current: int
    ready: int
    demand: Demand
    capacity: Capacity
    cold_start: ColdStart
    load: Load
    sight: Sight
    starting: int = 0
    unschedulable: int = 0
    unschedulable_seconds: float = 0.0
    memory: Memory = Memory()
    budget_remaining: float = nan
    burn_rate: float = nan
    pin: Pin | None = None
    frozen: bool = False
    events: Sequence[Event] = ()
    #: Root causes found just now that more instances would not cure.
    causes: Sequence[str] = ()
    partner_current: int | None = None
    lost_region_share: float = 0.0
    #: Seconds without any request; NaN where traffic was never seen.
    idle_seconds: float = 0.0
    victims: Sequence[str] = ()
    settings: Settings = field(default=DEFAULT)


def known(value: float) -> bool:
    """Return whether a figure is a number (NaN and infinities are unknown)."""
    return isfinite(value)


def normal_score(quantile: float) -> float:
    """Return the standard normal score (Abramowitz and Stegun 26.2.23, error below 4.5e-4), clipped to 0.5..0.999."""
    tail = 1 - min(max(quantile, 0.5), 0.999)
    t = sqrt(-2 * log(tail))
    top = 2.515517 + 0.802853 * t + 0.010328 * t * t
    below = 1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t**3
    return max(0.0, t - top / below)
