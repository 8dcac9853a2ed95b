"""Keeps one fitted forecaster a series: learns anew every hour, refreshes in between, forgets what nobody asks for."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import datetime, timedelta

from analytics.forecast.forecaster import Forecaster
from analytics.forecast.history import FloatArray, TimeArray
from analytics.forecast.registry import default

#: Fits a fresh forecaster, here or elsewhere, and returns it.
Learn = Callable[[Forecaster, TimeArray, FloatArray], Forecaster]


@dataclass(slots=True)
class _Kept:
    forecaster: Forecaster
    fitted_at: datetime
    asked_at: datetime


class Keeper:
    """Forecasters by key (model, tenant, signal, ...); not for use by several threads at once.

    `learn` fits a forecaster that `make` made: a caller who must not be held up has that done elsewhere.
    """

    def __init__(
        self,
        make: Callable[[], Forecaster] = default,
        refit_after: timedelta = timedelta(hours=1),
        forget_after: timedelta = timedelta(days=1),
        learn: Learn = lambda forecaster, times, values: forecaster.fit(times, values),
    ) -> None:
        self._make = make
        self._refit_after = refit_after
        self._forget_after = forget_after
        self._learn = learn
        self._kept: dict[Hashable, _Kept] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def forecaster(self, key: Hashable, now: datetime, times: TimeArray, values: FloatArray) -> Forecaster:
        """Return the forecaster of `key` with (times, values) taken in: learnt anew when it is old, else refreshed."""
        kept = self._kept.get(key)
        if kept is None or now - kept.fitted_at >= self._refit_after or now < kept.fitted_at:
            kept = _Kept(self._learn(self._make(), times, values), now, now)
            self._kept[key] = kept
        else:
            kept.forecaster.refresh(times, values)
            kept.asked_at = now
        for old in [name for name, other in self._kept.items() if now - other.asked_at >= self._forget_after]:
            del self._kept[old]
        return kept.forecaster
