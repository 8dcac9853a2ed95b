"""Gradient-boosted median of demand over its recent mean; slow, so it is a sibling and no member of the blend."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # ships no types; comes with scikit-learn

from analytics.forecast.calibration import Calibration
from analytics.forecast.history import FloatArray, History, IntArray
from analytics.forecast.member import targets
from analytics.forecast.windows import trailing_mean

#: Rows that the trees learn from; more cost time and change little.
MAX_ROWS = 2_500
LEAST_ROWS = 200
#: The past is cut into this many blocks, each forecast by trees that saw only what came before it.
BLOCKS = 2


@dataclass(frozen=True, slots=True)
class HistGradient:
    """A quantile regression of (demand / mean of the past day) on lags as ratios, lead and local time."""

    name: str = "hist_gradient"
    quantile: float = 0.5
    trees: int = 40

    def fit(self, history: History, calibration: Calibration) -> FittedTrees:
        """Learn once per block and once at the end; too few rows learn nothing."""
        leads = calibration.leads
        past = [
            _paths(self._trees(history, leads, int(block[0])), history, block, leads)
            for block in np.array_split(calibration.origins, BLOCKS)
            if len(block)
        ]
        return FittedTrees(
            self._trees(history, leads, len(history)), np.concatenate([np.empty((0, len(leads))), *past])
        )

    def _trees(self, history: History, leads: IntArray, until: int) -> HistGradientBoostingRegressor | None:
        """Learn from origins whose forecasts had all come true before `until`."""
        last = until - int(leads[-1])
        if last <= history.day:
            return None
        some = leads[:: max(1, len(leads) // 12)]
        origins = np.arange(history.day, last, max(1, (last - history.day) * len(some) // MAX_ROWS), dtype=np.int64)
        features, scale = _features(history, origins, some)
        wanted = (history.at(targets(origins, some)) / scale[:, None]).ravel()
        keep = np.isfinite(wanted)
        if keep.sum() < LEAST_ROWS:
            return None
        trees = HistGradientBoostingRegressor(
            loss="quantile", quantile=self.quantile, max_iter=self.trees, max_leaf_nodes=15, min_samples_leaf=40,
            learning_rate=0.1, l2_regularization=1.0, early_stopping=False, random_state=0,
        )  # fmt: skip
        with threadpool_limits(limits=1):  # on a busy host its threads wait for each other longer than they work
            return trees.fit(features.reshape(-1, features.shape[-1])[keep], wanted[keep])


@dataclass(frozen=True, slots=True)
class FittedTrees:
    """Trees (None where there was too little to learn from) and past forecasts."""

    trees: HistGradientBoostingRegressor | None
    past: FloatArray

    def ahead(self, history: History, steps: int) -> FloatArray:
        """Return the boosted median after the end of `history`."""
        end = np.array([len(history)], dtype=np.int64)
        path: FloatArray = _paths(self.trees, history, end, np.arange(1, steps + 1, dtype=np.int64))[0]
        return path


def _paths(
    trees: HistGradientBoostingRegressor | None, history: History, origins: IntArray, leads: IntArray
) -> FloatArray:
    if trees is None:
        return np.full((len(origins), len(leads)), np.nan)
    features, scale = _features(history, origins, leads)
    with threadpool_limits(limits=1):
        ratio = trees.predict(features.reshape(-1, features.shape[-1])).reshape(len(origins), len(leads))
    found: FloatArray = np.maximum(ratio, 0.0) * scale[:, None]
    return found


def _features(history: History, origins: IntArray, leads: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return features (origins, leads, k) as ratios to the mean of the day before each origin, and that mean.

    Unknown is -1: scikit-learn 1.9 cannot bin a column that is NaN throughout.
    """
    day = history.day
    scale = trailing_mean(history.values, origins, day)
    scale = np.where(scale > 0, scale, np.nan)
    wanted = targets(origins, leads)
    columns: list[FloatArray] = []
    for seconds in (1, 1800, 7200, 21_600):
        level = trailing_mean(history.values, origins, history.steps(seconds))
        columns.append(np.broadcast_to((level / scale)[:, None], wanted.shape))
    beyond = -(-leads // day)
    for days in (1, 2, 7):
        back = np.broadcast_to(np.maximum(beyond, days), wanted.shape)
        columns.append(history.at(history.days_before(wanted, back)) / scale[:, None])
        then = trailing_mean(history.values, origins - days * day, history.steps(1800))
        columns.append(np.broadcast_to((then / scale)[:, None], wanted.shape))
    clock = (wanted + history.shift[np.clip(wanted, 0, len(history.shift) - 1)]) % day / day
    columns.append(np.broadcast_to(np.log(leads)[None, :], wanted.shape))
    columns.append(clock)
    features = np.stack(columns, axis=-1)
    known: FloatArray = np.where(np.isfinite(features), features, -1.0)
    return known, scale


HIST_GRADIENT = HistGradient()
