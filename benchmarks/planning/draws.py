"""Random parameters and noise with known means, and the parts of telemetry that several cases share."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from benchmarks.planning.store import Store

__all__ = ["REQUESTS", "Case", "noisy", "whole"]

Floats = npt.NDArray[np.float64]
#: Requests of one case.
REQUESTS = 10_000
_SCRAPE_SECONDS = 60.0


def noisy(rng: np.random.Generator, count: int, spread: float) -> Floats:
    """Return positive noise with mean 1 and relative standard deviation `spread` (gamma)."""
    shape = 1 / spread**2
    return rng.gamma(shape, 1 / shape, count)


def whole(rng: np.random.Generator, values: Floats) -> npt.NDArray[np.int64]:
    """Round at random, up or down, so that means stay."""
    return np.floor(values + rng.random(len(values))).astype(np.int64)


def lognormal(rng: np.random.Generator, mean: float, sigma: float, count: int) -> Floats:
    """Return log-normal draws with the given mean."""
    return rng.lognormal(np.log(mean) - sigma * sigma / 2, sigma, count)


@dataclass(slots=True)
class Case:
    """One case: a random source, a store being filled, and the truth by input."""

    rng: np.random.Generator
    planner: str
    store: Store = field(default_factory=Store)
    truth: dict[str, float] = field(default_factory=dict)
    settings: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def draw(self, name: str, low: float, high: float) -> float:
        """Draw a parameter by order of magnitude and keep it as the truth of the input `name`."""
        value = float(np.exp(self.rng.uniform(np.log(low), np.log(high))))
        self.truth[name] = value
        return value

    def arrivals(self, peak: str | None = None, mean: str | None = None) -> Floats:
        """Return sorted arrival times: a quiet day with a busier third, or steady, and keep its rates as truths."""
        self.seconds = float(self.rng.uniform(3, 12)) * 3600
        lift = float(self.rng.choice([1.0, self.rng.uniform(1.3, 3.0)]))
        thirds = np.array([1.0, lift, 1.0])
        rates = REQUESTS / self.seconds * thirds / thirds.mean()
        times = []
        for place, rate in enumerate(rates):
            count = self.rng.poisson(rate * self.seconds / 3)
            times.append(np.sort(self.rng.uniform(place, place + 1, count)) * self.seconds / 3)
        if peak:
            self.truth[peak] = float(rates.max())
        if mean:
            self.truth[mean] = float(rates.mean())
        return np.concatenate(times)

    def scrapes(self) -> Floats:
        """Return scrape times over the case's span."""
        return np.arange(_SCRAPE_SECONDS, self.seconds, _SCRAPE_SECONDS)

    def mean_signal(
        self, name: str, signal: str, low: float, high: float, spread: float = 0.3, **attributes: str
    ) -> None:
        """Add a gauge whose mean is the truth of `name`."""
        ts = self.scrapes()
        value = self.draw(name, low, high)
        self.store.signal(signal, ts, value * noisy(self.rng, len(ts), spread), attributes)

    def ratio_signal(
        self, name: str, top: str, bottom: str, low: float, high: float, size: float = 100.0, **attributes: str
    ) -> None:
        """Add two counters whose increments have the ratio `name`."""
        ts = self.scrapes()
        value = self.draw(name, low, high)
        bottoms = size * noisy(self.rng, len(ts), 0.5)
        self.store.signal(bottom, ts, bottoms, attributes)
        self.store.signal(top, ts, value * bottoms * noisy(self.rng, len(ts), 0.2), attributes)

    def share_signal(self, name: str, top: str, bottom: str, low: float, high: float) -> None:
        """Add counters of trials and successes whose probability is the truth of `name`."""
        ts = self.scrapes()
        value = self.draw(name, low, high)
        trials = self.rng.poisson(40, len(ts)) + 1
        self.store.signal(bottom, ts, trials.astype(np.float64))
        self.store.signal(top, ts, self.rng.binomial(trials, value).astype(np.float64))

    def cold_starts(self, name: str) -> None:
        """Add lives of instances whose mean cold start is the truth of `name`."""
        mean = self.draw(name, 30, 300)
        began = self.rng.uniform(0, self.seconds * 0.9, 60)
        took = mean * noisy(self.rng, 60, 0.25)
        self.store.add(
            "instances", began, instance=[f"i{place}" for place in range(60)], model="m", ready_at=began + took
        )
