"""Names the jobs of a collector and how often each runs; does nothing by itself."""

from __future__ import annotations

from collector.api.services import Services
from collector.jobs.alerting import AlertSender
from collector.jobs.decisions import DecisionKeeper
from collector.jobs.forecasts import ForecastKeeper
from collector.jobs.incidents import keep_incidents
from collector.jobs.objectives import ObjectiveCounter
from collector.jobs.prices import PriceKeeper
from collector.jobs.scheduler import Job, Scheduler
from collector.jobs.upkeep import Upkeep


def build_scheduler(parts: Services) -> Scheduler:
    """Return the jobs of a running collector."""
    counter = ObjectiveCounter(parts)
    alerts = AlertSender(parts)
    decisions = DecisionKeeper(parts, lambda: alerts.budgets)
    upkeep = Upkeep(parts)

    def join() -> None:
        parts.store.join()

    def incidents() -> None:
        keep_incidents(parts)

    return Scheduler(
        (
            Job("join", 2.0, join),
            Job("decisions", 15.0, decisions.run),
            Job("alerts", 15.0, alerts.run),
            Job("objective_counts", 60.0, counter.run),
            Job("incidents", 60.0, incidents),
            Job("prices", 60.0, PriceKeeper(parts).run),
            Job("forecasts", 300.0, ForecastKeeper(parts).run),
            Job("upkeep", 3_600.0, upkeep.run),
        )
    )
