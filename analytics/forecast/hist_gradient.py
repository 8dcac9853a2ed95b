"""Gradient-boosted median of demand relative to its recent mean; never sees a value after its origin."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor

from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import targets

#: Rows that the trees learn from; more cost time and change little.
MAX_ROWS = 4_000


@dataclass(frozen=True, slots=True)
class HistGradient:
    """A quantile regression of (demand / recent mean) on lags as ratios, lead and local time."""

    name: str = "hist_gradient"
    quantile: float = 0.5
    trees: int = 60
    model: HistGradientBoostingRegressor | None = field(default=None, compare=False)

    def fit(self, history: History, until: int) -> HistGradient:
        """Learn from origins whose whole path lies before `until`; without two days of them nothing is learnt."""
        day = history.day
        first, last = day, until - day
        if last - first < day:
            return HistGradient(self.name, self.quantile, self.trees)
        leads = np.unique(np.round(np.geomspace(1, day, 16)).astype(np.int64))
        every = max(1, (last - first) * len(leads) // MAX_ROWS)
        origins = np.arange(first, last, every)
        features, scale = _features(history, origins, leads)
        wanted = history.at(targets(origins, leads)) / scale[:, None]
        keep = np.isfinite(wanted).ravel() & np.repeat(np.isfinite(scale), len(leads))
        # A column that is missing throughout breaks the binning of scikit-learn 1.9, so it is filled instead.
        rows = features.reshape(-1, features.shape[-1])[keep]
        rows = np.where(np.isnan(rows), -1.0, rows)
        if len(rows) < 200:
            return HistGradient(self.name, self.quantile, self.trees)
        model = HistGradientBoostingRegressor(
            loss="quantile", quantile=self.quantile, max_iter=self.trees, max_leaf_nodes=15, min_samples_leaf=40,
            learning_rate=0.1, l2_regularization=1.0, early_stopping=False, random_state=0,
        )  # fmt: skip
        model.fit(rows, wanted.ravel()[keep])
        return HistGradient(self.name, self.quantile, self.trees, model)

    def paths(self, history: History, origins: IntArray, leads: IntArray) -> FloatArray:
        """Return the boosted median, NaN where too little history was there to learn from."""
        shape = (len(origins), len(leads))
        if self.model is None:
            return np.full(shape, np.nan)
        features, scale = _features(history, origins, leads)
        rows = features.reshape(-1, features.shape[-1])
        ratio = self.model.predict(np.where(np.isnan(rows), -1.0, rows)).reshape(shape)
        found: FloatArray = np.maximum(ratio, 0.0) * scale[:, None]
        return found


def _features(history: History, origins: IntArray, leads: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return features (origins, leads, k) as ratios to the mean of the day before each origin, and that mean."""
    day = history.day
    scale = trailing_mean(history, origins, day)
    scale = np.where(scale > 0, scale, np.nan)
    wanted = targets(origins, leads)
    recent = [trailing_mean(history, origins, history.steps(seconds)) for seconds in (1, 1800, 7200, 21600)]
    columns = [np.broadcast_to((level / scale)[:, None], wanted.shape) for level in recent]
    beyond = np.ceil(leads / day).astype(np.int64)
    for days in (1, 2, 7):
        back = np.broadcast_to(np.maximum(beyond, days), wanted.shape)
        columns.append(history.at(history.days_before(wanted, back)) / scale[:, None])
        level_then = trailing_mean(history, origins - days * day, history.steps(1800))
        columns.append(np.broadcast_to((level_then / scale)[:, None], wanted.shape))
    clock = (wanted + history.shift[np.clip(wanted, 0, len(history.shift) - 1)]) % day / day
    columns.append(np.broadcast_to(np.log(leads)[None, :], wanted.shape))
    columns.append(clock)
    return np.stack(columns, axis=-1), scale


def trailing_mean(history: History, origins: IntArray, window: int) -> FloatArray:
    """Return the mean of the known values in the `window` steps before each origin, NaN where none is known."""
    known = np.isfinite(history.values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, history.values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    high = np.clip(origins, 0, len(history))
    low = np.clip(origins - window, 0, len(history))
    seen = counts[high] - counts[low]
    mean: FloatArray = np.divide(sums[high] - sums[low], seen, out=np.full(len(origins), np.nan), where=seen > 0)
    return mean


HIST_GRADIENT = HistGradient()
