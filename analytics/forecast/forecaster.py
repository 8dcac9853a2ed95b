"""The forecaster that people use: fit, predict, say on what basis and how sure; it never raises on short data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from analytics.forecast.bands import Bands, calibrate, residuals, unrest_of, width
from analytics.forecast.basis import basis_of, confidence_of
from analytics.forecast.blend import FittedBlend
from analytics.forecast.borrowed import with_borrowed_past
from analytics.forecast.calibration import Calibration, calibration
from analytics.forecast.divergence import Divergence, divergence
from analytics.forecast.events import Event, apply_events, without_events
from analytics.forecast.history import FloatArray, History, TimeArray, checked_step, checked_zone, regular
from analytics.forecast.level_shift import LevelShift, without_shift
from analytics.forecast.levels import LAST
from analytics.forecast.member import Fitted, Member
from analytics.forecast.reserve import Reserve, burst_reserve
from analytics.forecast.scores import QUANTILES, Scores, score
from analytics.forecast.seasonal_naive import NAIVE_DAY

__all__ = ["QUANTILES", "Forecaster"]


class Forecaster:
    """Point forecasts of one `Member` with calibrated bands around them."""

    def __init__(
        self,
        member: Member,
        step_seconds: int = 600,
        timezone: str = "UTC",
        *,
        follow_shifts: bool = False,
        events: Sequence[Event] = (),
    ) -> None:
        self.member = member
        self.step_seconds = checked_step(step_seconds)
        self.timezone = checked_zone(timezone).key
        self.follow_shifts = follow_shifts
        self.events = tuple(events)
        self.basis = "not fitted"
        self.confidence = 0.0
        self.scores = Scores.unknown()
        self.level_shift: LevelShift | None = None
        self._history = regular(np.empty(0, dtype="datetime64[s]"), np.empty(0), self.step_seconds, self.timezone)
        self._fitted: Fitted | None = None
        self._bands: Bands | None = None
        self._divergence: Divergence | None = None
        self._borrowed = False

    def fit(self, times: TimeArray, values: FloatArray, fleet: FloatArray | None = None) -> Forecaster:
        """Learn from (times, values): starts of steps as datetime64 in UTC, rates per second, NaN = missing.

        `fleet` (at the same times) lends a new tenant the past that it does not have.
        """
        self._borrowed = fleet is not None
        history = self._take(times, values if fleet is None else with_borrowed_past(values, fleet))
        judged = calibration(history)
        self._fitted = self.member.fit(history, judged)
        past = _filled(self._fitted.past, history, judged)
        unrest = unrest_of(past, judged, history)
        self._divergence = divergence(past, judged, history)
        unit = width(past, history) * unrest[: len(past), None] * self._divergence.past
        residual = residuals(past, unit, judged)
        naive = NAIVE_DAY.paths(history, judged.origins, judged.leads)
        self.scores, nudge = score(past, naive, unit, residual, judged, history)
        bands = calibrate(residual, judged, history, len(history)).nudged(nudge)
        self._bands = replace(bands, unrest=float(unrest[-1]))
        self._state()
        return self

    def refresh(self, times: TimeArray, values: FloatArray) -> Forecaster:
        """Take newer values without learning anew: weights, parameters and bands stay; a level shift is followed."""
        if self._fitted is None:
            return self.fit(times, values)
        self._take(times, values)
        self._state()
        return self

    def predict(self, steps: int, quantiles: Sequence[float] = QUANTILES) -> FloatArray:
        """Return demand per second of the next `steps` steps after the newest time given: (steps, quantiles).

        NaN only where no value was ever seen.
        """
        wanted = np.asarray(quantiles, dtype=np.float64)
        history = self._history
        if (
            self._fitted is None
            or self._bands is None
            or self._divergence is None
            or not np.isfinite(history.values).any()
        ):
            return np.full((steps, len(wanted)), np.nan)
        point = self._fitted.ahead(history, steps)
        origin, leads = np.array([len(history)]), np.arange(1, steps + 1)
        for fallback in (NAIVE_DAY, LAST):
            if np.isnan(point).any():
                point = np.where(np.isnan(point), fallback.paths(history, origin, leads)[0], point)
        grown = self._divergence.ahead(point, history)
        return apply_events(self._bands.around(point, wanted, history, grown), history, self.events)

    def explain(self, lead: int) -> dict[str, float]:
        """Return the members' shares at a lead of that many steps; the member itself where it is not a blend."""
        if isinstance(self._fitted, FittedBlend):
            return self._fitted.explain(lead)
        return {self.member.name: 1.0}

    def reserve(self, horizon_seconds: float, quantile: float = 0.99, dispersion: float = 1.0) -> Reserve:
        """Return what demand may rise by while an instance starts, see `burst_reserve`."""
        return burst_reserve(self._history, horizon_seconds, quantile, dispersion)

    def time_of(self, step: int) -> np.datetime64:
        """Return the start of a step of the history, e.g. of `level_shift.start`."""
        return self._history.time(step)

    def _take(self, times: TimeArray, values: FloatArray) -> History:
        history = regular(times, values, self.step_seconds, self.timezone)
        history = without_events(history, self.events)
        self.level_shift = None
        if self.follow_shifts:
            history, self.level_shift = without_shift(history)
        self._history = history
        return history

    def _state(self) -> None:
        self.basis = basis_of(self.member.name, self._history, self.level_shift)
        self.confidence = confidence_of(self._history, self.scores, self.level_shift)
        if self._borrowed:
            self.basis += "; the past before the first request is the fleet's curve at this tenant's level"
            self.confidence = round(self.confidence / 2, 3)


def _filled(past: FloatArray, history: History, judged: Calibration) -> FloatArray:
    """Return `past` with its gaps filled from naive day, then from the last value."""
    for fallback in (NAIVE_DAY, LAST):
        if np.isnan(past).any():
            past = np.where(np.isnan(past), fallback.paths(history, judged.origins, judged.leads), past)
    return past
