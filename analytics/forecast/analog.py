"""Which earlier times were like the newest hours, and what came after them; knows no calendar, only likeness.

Days come in kinds (a batch runs or does not, a tenant is on or off), and by noon one can tell which kind today is. An
average over days forecasts a day that never is; the days that were like this one tell how it goes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import Formula, targets
from analytics.forecast.profile import from_root
from analytics.forecast.weighted_median import weighted_median
from analytics.forecast.windows import median_of

BoolArray = npt.NDArray[np.bool_]
#: Days that are looked back.
DAYS = 14
#: Distance between earlier times that do not lie whole days back.
APART_SECONDS = 1_800
#: The newest window must be known to this share, here and there, to be compared.
LEAST_KNOWN = 0.3


@dataclass(frozen=True, slots=True)
class Analog(Formula):
    """The weighted median of what came after like times; a time's weight falls with its distance.

    Distance is the mean absolute difference over the last `window_seconds`, in square roots; at `sharpness` times the
    usual distance a weight is a third. Times lie whole days back, and up to `astray_seconds` beside that; the `most`
    alike count. `follow` is as in `ProfileLevel`: how what is left between now and then fades. All were chosen on the
    tuning series.
    """

    name: str
    window_seconds: float
    sharpness: float
    follow: tuple[tuple[float, float], ...] = ()
    astray_seconds: float = 0.0
    most: int = DAYS

    def paths(self, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
        """Return the middle of what came after like times, NaN where nothing like it was known far enough."""
        came, weights = self.continued(history, origins, leads)
        return weighted_median(came, weights) if came.shape[-1] else np.full(came.shape[:-1], np.nan)

    def continued(self, history: History, origins: IntArray, leads: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return what came after each of the like times, and its weight: (origins, leads, times), NaN unknown."""
        days, beside = self._places(history)
        if len(days) == 0 or len(origins) == 0:
            nothing = np.empty((len(origins), len(leads), 0))
            return nothing, nothing
        roots = history.with_values(np.sqrt(history.values))
        distance, left = self._compared(roots, origins, days, beside)
        order = np.argsort(distance, axis=1)[:, : self.most]  # NaN last
        nearest = np.take_along_axis(distance, order, axis=1)
        reach = np.maximum(self.sharpness * median_of(distance.T), 1e-12)
        weights = np.where(np.isfinite(nearest), np.exp(-nearest / reach[:, None]), 0.0)
        wanted = targets(origins, leads)[..., None]
        then = roots.days_before(wanted, days[order][:, None, :]) - beside[order][:, None, :]
        came = np.where(then < origins[:, None, None], roots.at(then), np.nan)
        hours = leads * history.step_seconds / 3600
        for (_, pace), strayed in zip(self.follow, left, strict=True):
            kept = np.take_along_axis(strayed, order, axis=1)
            came = came + kept[:, None, :] * np.exp(-hours / pace)[None, :, None]
        return from_root(came), np.broadcast_to(weights[:, None, :], came.shape)

    def _places(self, history: History) -> tuple[IntArray, IntArray]:
        """Return earlier times as whole days back and steps beside them."""
        days = np.arange(1, min(DAYS, len(history) // history.day) + 1, dtype=np.int64)
        apart = history.steps(APART_SECONDS)
        reach = int(self.astray_seconds // history.step_seconds) // apart
        beside = apart * np.arange(-reach, reach + 1, dtype=np.int64)
        return np.repeat(days, len(beside)), np.tile(beside, len(days))

    def _compared(
        self, roots: History, origins: IntArray, days: IntArray, beside: IntArray
    ) -> tuple[FloatArray, list[FloatArray]]:
        """Return distances (origins, places), and for each window of `follow` how now lies above then beyond the next.

        Both are in square roots, from steps that are known now and then.
        """
        window = roots.steps(self.window_seconds)
        follow = [roots.steps(seconds) for seconds, _ in self.follow]
        first = max(0, int(origins.min()) - max(window, *follow, 1))
        steps = np.arange(first, int(origins.max()), dtype=np.int64)
        then = roots.days_before(steps[None, :], days[:, None]) - beside[:, None]
        apart = roots.values[steps] - roots.at(then)
        known = np.isfinite(apart)
        apart = np.where(known, apart, 0.0)
        counts, ends = _summed(known), origins - first
        seen = _within(counts, ends, window)
        blank = np.full(seen.shape, np.nan)
        distance = np.divide(
            _within(_summed(np.abs(apart)), ends, window), seen, out=blank, where=seen >= LEAST_KNOWN * window
        )
        above = np.zeros((len(follow) + 1, *seen.shape))
        sums = _summed(apart) if follow else counts
        for row, size in enumerate(follow):
            above[row] = _within(sums, ends, size) / np.maximum(_within(counts, ends, size), 1)
        return distance.T, [(nearer - wider).T for nearer, wider in pairwise(above)]


def _summed(values: FloatArray | BoolArray) -> FloatArray:
    """Return the sums of all before each step, and at last of everything: (places, steps + 1)."""
    sums = np.zeros((len(values), values.shape[1] + 1))
    np.cumsum(values, axis=1, out=sums[:, 1:])
    return sums


def _within(sums: FloatArray, ends: IntArray, window: int) -> FloatArray:
    """Return the sums over the `window` steps before each end: (places, ends)."""
    found: FloatArray = sums[:, ends] - sums[:, np.maximum(ends - window, 0)]
    return found


ANALOG_6H = Analog("analog_6h", 21_600, 0.35, ((1, 5.0),), most=8)
ANALOG_3H = Analog("analog_3h", 10_800, 0.25, ((1, 8.0),), most=7)
ANALOG_1H = Analog("analog_1h", 3_600, 0.35, most=8)
ANALOG_SLOW = Analog("analog_slow", 21_600, 0.5, ((1_800, 6.0),), most=9)
ANALOG_ASTRAY = Analog("analog_astray", 21_600, 0.3, astray_seconds=7_200, most=12)
ANALOG_ASTRAY_NEAR = Analog("analog_astray_near", 7_200, 0.3, ((1, 3.0),), astray_seconds=7_200, most=12)
