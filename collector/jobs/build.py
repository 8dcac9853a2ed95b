"""Names the jobs of a collector and how often each runs; does nothing by itself."""

from __future__ import annotations

from importlib import import_module

from collector.api.services import Services
from collector.jobs.alerting import AlertSender
from collector.jobs.decisions import DecisionKeeper
from collector.jobs.forecasts import ForecastKeeper
from collector.jobs.incidents import keep_incidents
from collector.jobs.objectives import ObjectiveCounter
from collector.jobs.prices import PriceKeeper
from collector.jobs.scheduler import Job, Scheduler
from collector.jobs.upkeep import Upkeep
from collector.jobs.worker import Worker

#: What jobs import when they first run: with scikit-learn and scipy, two seconds that hold up everybody else.
LATE = (
    "analytics.forecast",
    "analytics.slo",
    "collector.answers.scale",
    "collector.answers.scale_curve",
    "collector.answers.scale_grades",
    "collector.answers.scale_states",
    "collector.answers.demand",
    "collector.answers.forecast_series",
    "collector.answers.objective_files",
    "collector.answers.objective_series",
    "collector.answers.status",
    "collector.answers.explain",
    "collector.answers.incidents",
)


def warm_up_jobs() -> None:
    """Import what the jobs will need, so that no sender waits for that once requests are answered."""
    for name in LATE:
        import_module(name)


def build_scheduler(parts: Services) -> Scheduler:
    """Return the jobs of a running collector."""
    counter = ObjectiveCounter(parts)
    alerts = AlertSender(parts)
    worker = Worker()
    decisions = DecisionKeeper(parts, lambda: alerts.budgets, worker.learn)
    upkeep = Upkeep(parts)

    def join() -> None:
        parts.store.join()

    def incidents() -> None:
        keep_incidents(parts)

    return Scheduler(
        (
            # The writer joins what it commits; this joins what a stop or a full disk left.
            Job("join", 15.0, join),
            Job("decisions", 15.0, decisions.run),
            Job("alerts", 15.0, alerts.run),
            Job("objective_counts", 60.0, counter.run),
            Job("incidents", 60.0, incidents),
            Job("prices", 60.0, PriceKeeper(parts).run),
            Job("forecasts", 300.0, ForecastKeeper(parts, worker.learn).run),
            Job("upkeep", 3_600.0, upkeep.run),
        ),
        ended=worker.stop,
    )
