"""Rolling origins: what a forecaster would have said in the past, learnt anew at each origin; it never sees ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analytics.forecast.forecaster import QUANTILES, Forecaster
from analytics.forecast.history import DAY_SECONDS, FloatArray, IntArray, TimeArray, regular
from analytics.forecast.seasonal_naive import NAIVE_DAY

#: Leads in seconds (above, up to) that results are told for.
BUCKETS: dict[str, tuple[float, float]] = {
    "5-30m": (300, 1800),
    "30-60m": (1800, 3600),
    "1-24h": (3600, DAY_SECONDS),
}


@dataclass(frozen=True, slots=True)
class Backtest:
    """Forecasts against what came: arrays are (origins, leads[, quantiles]); NaN where the truth is missing.

    `scale` is the in-sample mean absolute error of naive day before each origin, `mean` the mean demand of the series.
    """

    origins: TimeArray
    lead_seconds: FloatArray
    quantiles: tuple[float, ...]
    actual: FloatArray
    said: FloatArray
    naive: FloatArray
    scale: FloatArray
    mean: float
    fit_seconds: FloatArray
    predict_seconds: FloatArray

    def errors(self, bucket: str) -> tuple[FloatArray, FloatArray]:
        """Return the absolute errors of the median and of naive day in a lead bucket, flat, where both are known."""
        middle = self.quantiles.index(0.5)
        ours = np.abs(self.actual - self.said[..., middle])[:, self._leads(bucket)]
        naive = np.abs(self.actual - self.naive)[:, self._leads(bucket)]
        known = np.isfinite(ours) & np.isfinite(naive)
        return ours[known], naive[known]

    def relative_mae(self, bucket: str) -> float:
        """Return the mean absolute error over that of naive day at the same places."""
        ours, naive = self.errors(bucket)
        return float(ours.mean() / naive.mean()) if len(naive) and naive.mean() > 0 else float("nan")

    def mase(self, bucket: str) -> float:
        """Return the mean over origins of the absolute error over the in-sample error of naive day."""
        middle = self.quantiles.index(0.5)
        error = np.abs(self.actual - self.said[..., middle])[:, self._leads(bucket)] / self.scale[:, None]
        return float(np.nanmean(error)) if np.isfinite(error).any() else float("nan")

    def pinball(self, bucket: str) -> dict[float, float]:
        """Return the pinball loss of each quantile over the mean of the series."""
        return {
            quantile: float(np.nanmean(np.maximum(quantile * miss, (quantile - 1) * miss)) / self.mean)
            for quantile, miss in self._misses(bucket).items()
        }

    def coverage(self, bucket: str) -> dict[float, float]:
        """Return the share of values at or below each quantile."""
        return {
            quantile: float((miss[np.isfinite(miss)] <= 1e-9).mean()) for quantile, miss in self._misses(bucket).items()
        }

    def covered_by_origin(self, bucket: str, quantile: float) -> FloatArray:
        """Return the share of values at or below `quantile` for each origin, for block bootstraps."""
        miss = self._misses(bucket)[quantile]
        known = np.isfinite(miss)
        held = (np.where(known, miss, 1.0) <= 1e-9).sum(axis=1)
        blank = np.full(len(miss), np.nan)
        share: FloatArray = np.divide(held, known.sum(axis=1), out=blank, where=known.any(axis=1))
        return share

    def head_room(self, bucket: str, quantile: float) -> float:
        """Return the mean of `quantile` over the mean of what came."""
        place = self.quantiles.index(quantile)
        leads = self._leads(bucket)
        known = np.isfinite(self.actual[:, leads])
        came = self.actual[:, leads][known].mean()
        return float(self.said[:, leads, place][known].mean() / came) if came > 0 else float("nan")

    def _leads(self, bucket: str) -> IntArray:
        low, high = BUCKETS[bucket]
        return np.flatnonzero((self.lead_seconds > low) & (self.lead_seconds <= high)).astype(np.int64)

    def _misses(self, bucket: str) -> dict[float, FloatArray]:
        leads = self._leads(bucket)
        return {
            quantile: self.actual[:, leads] - self.said[:, leads, place]
            for place, quantile in enumerate(self.quantiles)
        }


GOLDEN = 0.6180339887498949
#: Far more days than any series has: a backtest looks at all of them.
ALL_DAYS = 36_500


def backtest(
    times: TimeArray,
    values: FloatArray,
    make: Callable[[], Forecaster],
    origins: Sequence[int],
    *,
    step_seconds: int,
    horizon_seconds: float = DAY_SECONDS,
    train_days: int = 42,
    clock: Callable[[], float] = lambda: 0.0,
    quantiles: Sequence[float] = QUANTILES,
) -> Backtest:
    """Fit at each origin (index of the first unknown step) on the `train_days` before it, forecast the horizon.

    `clock` returns CPU seconds; by default costs are not measured.
    """
    history = regular(times, values, step_seconds, newest_days=ALL_DAYS)
    day, size = history.day, len(history)
    steps = max(1, round(horizon_seconds / step_seconds))
    grid = history.start + np.arange(size) * np.timedelta64(step_seconds, "s")
    shape = (len(origins), steps)
    actual, naive = np.full(shape, np.nan), np.full(shape, np.nan)
    said = np.full((*shape, len(quantiles)), np.nan)
    scale: FloatArray = np.full(len(origins), np.nan)
    fits: FloatArray = np.full(len(origins), np.nan)
    predicts: FloatArray = np.full(len(origins), np.nan)
    leads = np.arange(1, steps + 1, dtype=np.int64)
    lead_seconds: FloatArray = leads.astype(np.float64) * step_seconds
    for place, origin in enumerate(origins):
        known = slice(max(0, origin - train_days * day), origin)
        past = history.values[known]
        began = clock()
        forecaster = make().fit(grid[known], past)
        fitted = clock()
        said[place] = forecaster.predict(steps, quantiles)
        fits[place], predicts[place] = fitted - began, clock() - fitted
        came = history.values[origin : origin + steps]
        actual[place, : len(came)] = came
        naive[place] = NAIVE_DAY.paths(history, np.array([origin]), leads)[0]
        changes = np.abs(past[day:] - past[:-day])
        scale[place] = np.nanmean(changes) if np.isfinite(changes).any() else np.nan
    scale[~(scale > 0)] = np.nan
    mean = float(np.nanmean(history.values)) if np.isfinite(history.values).any() else float("nan")
    return Backtest(
        grid[np.asarray(origins, dtype=np.int64)], lead_seconds, tuple(quantiles), actual, said, naive,
        scale, mean, fits, predicts,
    )  # fmt: skip


def rolling_origins(
    size: int, day: int, count: int, learn_days: float = 7.0, horizon_days: float = 1.0
) -> tuple[int, ...]:
    """Return up to `count` origins, evenly spread after `learn_days` with the whole horizon known, at all day times."""
    first, last = round(learn_days * day), size - round(horizon_days * day)
    if last < first:
        return ()
    places = np.arange(count)
    # The golden ratio scatters them over the times of day; even spacing would meet the same few hours again and again.
    spread = first + (last - first) * (places + (places * GOLDEN) % 1) / count
    return tuple(int(origin) for origin in np.unique(np.round(spread)))
