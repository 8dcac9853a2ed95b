"""The forecaster that people use: fit, predict, say on what basis and how sure; it never raises on short data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analytics.forecast.bands import Bands, calibrate
from analytics.forecast.history import FloatArray, History, IntArray, TimeArray, checked_step, checked_zone, regular
from analytics.forecast.levels import LAST
from analytics.forecast.member import Member, targets
from analytics.forecast.seasonal_naive import NAIVE_DAY

QUANTILES = (0.1, 0.5, 0.9, 0.99)
#: Bands are calibrated on origins of this many days, and quality is stated over them.
CALIBRATION_DAYS = 14


@dataclass(frozen=True, slots=True)
class Scores:
    """How the forecaster did on its own past: None where the history is too short to tell.

    `mase` is the mean absolute error from one hour to one day ahead over that of naive day in the same series;
    `pinball` is by quantile, over the mean of demand; `coverage` is the share of values at or below the quantile.
    """

    mase: float | None
    pinball: dict[str, float | None]
    coverage: dict[str, float | None]


class Forecaster:
    """Point forecasts of one `Member` with calibrated bands around them."""

    def __init__(self, member: Member, step_seconds: int = 600, timezone: str = "UTC") -> None:
        self.member = member
        self.step_seconds = checked_step(step_seconds)
        self.timezone = checked_zone(timezone).key
        self.basis = "not fitted"
        self.confidence = 0.0
        self._history = regular(np.empty(0, dtype="datetime64[s]"), np.empty(0), self.step_seconds)
        self._fitted: Member = member
        self._bands: Bands | None = None
        self.scores = Scores(None, {}, {})

    def fit(self, times: TimeArray, values: FloatArray) -> Forecaster:
        """Learn from (times, values): starts of steps as datetime64 in UTC, rates per second, NaN = missing."""
        self._history = history = regular(times, values, self.step_seconds, self.timezone)
        self._fitted = self.member.fit(history, len(history))
        origins, leads = _calibration(history)
        point = self._calibration_paths(origins, leads)
        actual = history.at(targets(origins, leads))
        seen = history.values[np.isfinite(history.values)]
        scale = float(seen.mean()) if len(seen) else 0.0
        ceiling = 6 * float(seen.max()) if len(seen) else 0.0
        self._bands = calibrate(actual, point, leads, scale, ceiling)
        self.scores = _scores(history, actual, point, origins, leads, scale, ceiling)
        self._state()
        return self

    def refresh(self, times: TimeArray, values: FloatArray) -> Forecaster:
        """Take newer values without learning anew: weights, parameters and bands stay as they were."""
        if self._bands is None:
            return self.fit(times, values)
        self._history = regular(times, values, self.step_seconds, self.timezone)
        self._state()
        return self

    def predict(self, steps: int, quantiles: Sequence[float] = QUANTILES) -> FloatArray:
        """Return demand per second of the next `steps` steps after the newest time given: (steps, quantiles).

        NaN only where no value was ever seen.
        """
        wanted = np.asarray(quantiles, dtype=np.float64)
        seen = np.isfinite(self._history.values)
        if self._bands is None or not seen.any():
            return np.full((steps, len(wanted)), np.nan)
        origin = np.array([len(self._history)])
        leads = np.arange(1, steps + 1)
        point = _filled(self._fitted.paths(self._history, origin, leads), self._history, origin, leads)[0]
        return self._bands.around(point, wanted)

    def _calibration_paths(self, origins: IntArray, leads: IntArray) -> FloatArray:
        """Return what would have been forecast, each block of origins with parameters learnt before it."""
        parts = []
        for block in np.array_split(origins, 3):
            if len(block):
                member = self.member.fit(self._history, int(block[0]))
                parts.append(_filled(member.paths(self._history, block, leads), self._history, block, leads))
        return np.concatenate(parts) if parts else np.empty((0, len(leads)))

    def _state(self) -> None:
        history = self._history
        seen = int(np.isfinite(history.values).sum())
        days = seen / history.day
        self.basis = _basis(self.member.name, days)
        self.confidence = round(float(min(1.0, days / 14) * 0.9), 3)


def _basis(name: str, days: float) -> str:
    if days == 0:
        return "no data"
    if days < 1 / 24:
        return "last value (less than an hour of history)"
    if days < 1:
        return "recent level (less than a day of history)"
    if days < 2:
        return f"{name} without a second day"
    if days < 8:
        return f"{name} without a weekly pattern"
    return name


def _filled(path: FloatArray, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
    """Return `path` with its gaps filled from naive day, then from the last value."""
    for fallback in (NAIVE_DAY, LAST):
        if not np.isnan(path).any():
            break
        path = np.where(np.isnan(path), fallback.paths(history, origins, leads), path)
    return path


def _calibration(history: History) -> tuple[IntArray, IntArray]:
    """Return hourly origins of the past fortnight and leads up to a day, few of the long ones."""
    size, day = len(history), history.day
    leads = np.unique(np.round(np.geomspace(1, day, 20)).astype(np.int64))
    every = max(1, history.steps(3600))
    first = max(1, size - CALIBRATION_DAYS * day)
    return np.arange(first, size, every, dtype=np.int64), leads


def _scores(
    history: History,
    actual: FloatArray,
    point: FloatArray,
    origins: IntArray,
    leads: IntArray,
    scale: float,
    ceiling: float,
) -> Scores:
    """Score the later half of the calibration with bands learnt from the earlier half."""
    half = len(origins) // 2
    names = [f"q{round(100 * q)}" for q in QUANTILES]
    if half * 2 < history.day // history.steps(3600) or scale <= 0:
        return Scores(None, dict.fromkeys(names), dict.fromkeys(names))
    bands = calibrate(actual[:half], point[:half], leads, scale, ceiling)
    far = leads > history.steps(3600)
    truth = actual[half:][:, far]
    known = np.isfinite(truth)
    if not known.any():
        return Scores(None, dict.fromkeys(names), dict.fromkeys(names))
    naive = np.abs(history.values[history.day :] - history.values[: -history.day])
    naive_error = float(np.nanmean(naive)) if np.isfinite(naive).any() else 0.0
    error = float(np.abs(truth - point[half:][:, far])[known].mean())
    pinball: dict[str, float | None] = {}
    coverage: dict[str, float | None] = {}
    quantiles = np.array(QUANTILES)
    longest = int(leads[-1])
    for column, name in enumerate(names):
        rows = []
        for path in point[half:]:
            dense = np.interp(np.arange(1, longest + 1), leads, path)
            rows.append(bands.around(dense, quantiles[column : column + 1])[leads[far] - 1, 0])
        said = np.stack(rows)
        miss = (truth - said)[known]
        q = quantiles[column]
        pinball[name] = float(np.maximum(q * miss, (q - 1) * miss).mean() / scale)
        coverage[name] = float((miss <= 0).mean())
    return Scores(error / naive_error if naive_error > 0 else None, pinball, coverage)
