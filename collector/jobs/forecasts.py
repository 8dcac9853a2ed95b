"""Keeps a forecast of every model up to date and shows it on /metrics; learns anew every hour, not every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from collector.api.inputs import configured_calendar
from collector.api.services import Services
from collector.jobs.worker import fitted

if TYPE_CHECKING:
    from analytics.forecast import Event, Keeper
    from analytics.forecast.keeper import Learn

STEP_SECONDS = 600
#: Models whose forecasts are shown at most, in order of name: each costs a query every five minutes.
MODELS = 50


@dataclass(slots=True)
class ForecastKeeper:
    """Holds the fitted forecasters of models between runs."""

    parts: Services
    #: Fits forecasters, in another process where there is one.
    learn: Learn = fitted
    _keeper: Keeper | None = None
    _calendar: Sequence[Event] = ()

    def run(self) -> None:
        """Refresh every model's forecast with what came since, and publish it."""
        from analytics.forecast import Keeper, default
        from analytics.forecast.history import DAY_SECONDS
        from collector.answers.demand import demand_of
        from collector.answers.forecast_series import Outlook, page

        now = self.parts.clock()
        calendar = configured_calendar(self.parts)
        if self._keeper is None or calendar != self._calendar:
            self._keeper, self._calendar = (
                Keeper(lambda: default(STEP_SECONDS, events=calendar), learn=self.learn),
                calendar,
            )
        reader = self.parts.store.reader()
        found = {}
        for model in sorted(str(name) for name in reader.columns("forecast_models")["model"])[:MODELS]:
            demand = demand_of(reader, now, model=model, step_seconds=STEP_SECONDS)
            if len(demand.times) == 0:
                continue
            forecaster = self._keeper.forecaster(model, now, demand.times, demand.whole)
            path = forecaster.predict(DAY_SECONDS // STEP_SECONDS)
            found[model] = Outlook(path, STEP_SECONDS, forecaster.confidence)
        self.parts.published["forecasts"] = page(found)
