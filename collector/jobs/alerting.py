"""Sends alerts to Alertmanager and webhooks: said once, resolved, with a heartbeat; what fires is decided elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from collector.answers.alert_payloads import alertmanager_payload, webhook_payloads
from collector.answers.alerts import AlertBook, AlertRound, advance_alerts, find_alerts
from collector.api.inputs import RAW_WINDOW, configured_objectives
from collector.api.services import Services
from signals.errors import UnreachableError

if TYPE_CHECKING:
    from analytics.slo import Objective
    from analytics.slo.silence import Silence
    from collector.answers.objective_series import ObjectiveSeries

log = logging.getLogger(__name__)
TIMEOUT_SECONDS = 5.0


@dataclass(slots=True)
class AlertSender:
    """Keeps the book of open alerts between rounds; without a configured receiver it only keeps the book."""

    parts: Services
    book: AlertBook = field(default_factory=AlertBook)
    last: AlertRound | None = None
    #: (remaining share of the error budget, burn rate of the last hour) by model, the worst objective of each.
    budgets: dict[str, tuple[float, float]] = field(default_factory=dict)
    _series: ObjectiveSeries | None = None

    def run(self) -> None:
        """Look, and send what has to be said. UnreachableError names every receiver that did not take it."""
        from collector.answers.status import status

        now = self.parts.clock()
        objectives = configured_objectives(self.parts)
        answer = status(self.parts.store.reader(), now, objectives=objectives, raw_window=RAW_WINDOW)
        found = answer.get("objectives")
        rows = [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []
        self._publish(objectives, rows, now)
        self.budgets = _budgets(rows)
        alerts = find_alerts(
            rows, explanations=self._explained(rows, now), dashboard_url=self.parts.config.dashboard_url
        )
        this_round = advance_alerts(self.book, alerts, now, silences=self._silences())
        self.last = this_round
        faults = self._send(this_round, now)
        self.book = _undelivered(self.book, this_round) if faults else this_round.book
        if faults:
            raise UnreachableError("; ".join(faults))

    def _silences(self) -> Sequence[Silence]:
        """Return the silences that stand beside the configured objectives."""
        from collector.answers.objective_files import load_silences

        place = self.parts.config.objectives
        return load_silences(Path(place)) if place else ()

    def _publish(self, objectives: Sequence[Objective] | None, rows: list[Mapping[str, object]], now: datetime) -> None:
        """Put the series that exported Prometheus rules read on this server's /metrics."""
        from analytics.slo import default_objective
        from collector.answers.objective_series import ObjectiveSeries

        if self._series is None:
            self._series = ObjectiveSeries(now.replace(second=0, microsecond=0))
        wanted = objectives or (default_objective(),)
        self.parts.published["objectives"] = self._series.page(self.parts.store.reader(), wanted, rows)

    def _explained(self, rows: list[Mapping[str, object]], now: datetime) -> dict[str, Mapping[str, object]]:
        """Explain the models whose objective fires for the first time: the page carries the top cause."""
        from collector.answers.explain import explain

        told: dict[str, Mapping[str, object]] = {}
        for row in rows:
            model = row.get("model")
            if row.get("firing") and isinstance(model, str) and model not in told:
                already = any(alert.scope.get("model") == model for alert in self.book.open.values())
                if not already:
                    told[model] = explain(self.parts.store.reader(), now, model=model)
        return told

    def _send(self, found: AlertRound, now: datetime) -> list[str]:
        config = self.parts.config
        faults = []
        if config.alertmanager_url:
            # The watchdog alert is part of every payload: it is the heartbeat.
            faults += _post(f"{config.alertmanager_url.rstrip('/')}/api/v2/alerts", alertmanager_payload(found, now))
        for url in _webhooks(config.webhooks):
            for body in webhook_payloads(found, now):
                faults += _post(url, body)
        return faults


def _budgets(rows: Sequence[Mapping[str, object]]) -> dict[str, tuple[float, float]]:
    """Return budget and burn rate by model from model-wide objectives; the least budget counts."""
    found: dict[str, tuple[float, float]] = {}
    for row in rows:
        model, left, burn = row.get("model"), row.get("budget_remaining"), row.get("burn_rate")
        rate = burn.get("1h") if isinstance(burn, Mapping) else None
        if not isinstance(model, str) or row.get("tenant") is not None:
            continue
        if isinstance(left, int | float) and isinstance(rate, int | float):
            budget = (min(1.0, max(0.0, float(left))), float(rate))
            found[model] = min(budget, found.get(model, budget))
    return found


def _undelivered(before: AlertBook, found: AlertRound) -> AlertBook:
    """Return the book after a round that a receiver did not take: what it missed will be said, or resolved, again."""
    resolved = {alert.key: alert for alert in found.resolved}
    return AlertBook({**resolved, **found.book.open}, dict(before.said_at))


def _webhooks(path: str) -> list[str]:
    """Return the URLs of the webhook file, one a line; they may hold secrets and so never stand in a setting."""
    if not path:
        return []
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _post(url: str, body: object) -> list[str]:
    """Return what went wrong, with the receiver's host and never its path: that may hold a secret."""
    try:
        answer = httpx.post(url, json=body, timeout=TIMEOUT_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return [f"{_host(url)} did not take alerts: {type(error).__name__}"]
    return [] if answer.is_success else [f"{_host(url)} did not take alerts: it answered {answer.status_code}"]


def _host(url: str) -> str:
    try:
        return httpx.URL(url).host or "a receiver without a host"
    except httpx.InvalidURL:
        return "a receiver whose URL is none"
