"""Decides which alerts are open, new, resolved or silenced, and what they say; sends none and remembers nothing.

A row of `status` that burns makes one alert, of its highest severity; a row without data makes another. The caller
keeps the `AlertBook` between calls and sends the payloads of `alert_payloads`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from urllib.parse import urlencode

from analytics.slo import DIMENSIONS
from analytics.slo.silence import Silence

#: How long an unchanged alert stays quiet on a webhook before it is said again.
REPEAT = timedelta(hours=4)
_RANK = {"page": 2, "ticket": 1}


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing that a person should know; `key` tells it apart from all others for as long as it lasts."""

    key: str
    name: str
    severity: str
    objective: str
    scope: Mapping[str, str]
    summary: str
    windows: str = ""
    verdict: str = ""
    cause: str = ""
    next_step: str = ""
    link: str = ""
    started_at: datetime | None = None

    def labels(self) -> dict[str, str]:
        """Return what Alertmanager routes and deduplicates by."""
        return {"alertname": self.name, "severity": self.severity, "objective": self.objective, **self.scope}


@dataclass(frozen=True, slots=True)
class AlertBook:
    """What is open, and when each was last said aloud."""

    open: Mapping[str, Alert] = field(default_factory=dict)
    said_at: Mapping[str, datetime] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class AlertRound:
    """One round: everything that is open, what has to be said now, what is over, and what a silence holds back."""

    book: AlertBook
    active: tuple[Alert, ...]
    say: tuple[Alert, ...]
    resolved: tuple[Alert, ...]
    silenced: tuple[tuple[Alert, Silence], ...]


def find_alerts(
    rows: Iterable[Mapping[str, object]],
    *,
    explanations: Mapping[str, Mapping[str, object]] | None = None,
    dashboard_url: str = "",
) -> tuple[Alert, ...]:
    """Return the alerts of `status` rows. `explanations` are `explain` answers by model; the top cause is quoted."""
    found = []
    for row in rows:
        scope = {name: str(value) for name in DIMENSIONS if (value := row.get(name)) is not None}
        alert = _burn_alert(row, scope) if row.get("firing") else None
        if alert is None and row.get("state") == "no_data":
            alert = _no_data_alert(row, scope)
        if alert is not None:
            told = (explanations or {}).get(scope.get("model", ""))
            found.append(_explained(alert, told, _link(dashboard_url, row, scope)))
    return tuple(found)


def advance_alerts(
    book: AlertBook, alerts: Sequence[Alert], now: datetime, *, silences: Sequence[Silence] = ()
) -> AlertRound:
    """Compare what fires now with what was open: the same alert is said once, again when worse or after REPEAT."""
    opened: dict[str, Alert] = {}
    said_at: dict[str, datetime] = {}
    active, say, silenced = [], [], []
    for alert in alerts:
        before = book.open.get(alert.key)
        current = replace(alert, started_at=now) if before is None else _continued(alert, before)
        opened[alert.key] = current
        silence = next((one for one in silences if one.covers(current.labels(), now)), None)
        said = book.said_at.get(alert.key)
        if silence is not None:
            silenced.append((current, silence))
            if said is not None:
                said_at[alert.key] = said
            continue
        active.append(current)
        worse = before is not None and _RANK.get(current.severity, 0) > _RANK.get(before.severity, 0)
        if said is None or worse or now - said >= REPEAT:
            say.append(current)
            said = now
        said_at[alert.key] = said
    resolved = tuple(alert for key, alert in book.open.items() if key not in opened and key in book.said_at)
    return AlertRound(AlertBook(opened, said_at), tuple(active), tuple(say), resolved, tuple(silenced))


def _continued(alert: Alert, before: Alert) -> Alert:
    """Keep since when, and what was found out when it began, unless something newer is known."""
    known = alert if alert.verdict else before
    return replace(
        alert, started_at=before.started_at, verdict=known.verdict, cause=known.cause, next_step=known.next_step
    )


def watchdog() -> Alert:
    """Return the heartbeat: always firing, so that its absence is noticed where alerts arrive."""
    return Alert("watchdog", "SloscopeWatchdog", "none", "", {}, "sloscope evaluates objectives and can send alerts")


def _burn_alert(row: Mapping[str, object], scope: Mapping[str, str]) -> Alert | None:
    firing = row["firing"]
    assert isinstance(firing, list)
    worst = max(firing, key=lambda one: (_RANK.get(str(one["severity"]), 0), float(one["factor"])))
    windows = f"{worst['long']} and {worst['short']}"
    rates = row["burn_rate"]
    assert isinstance(rates, Mapping)
    rate = rates.get(worst["long"])
    remaining = row.get("budget_remaining")
    left = "unknown" if not isinstance(remaining, float) else f"{max(0.0, remaining) * 100:.0f} %"
    told = f"error budget burns {rate:.1f} times too fast over {windows}; {left} of it left"
    summary = f"{row['objective']}{_of(scope)}: {told}"
    return Alert(
        _key("burn", row, scope),
        "SloscopeErrorBudgetBurn",
        str(worst["severity"]),
        str(row["objective"]),
        scope,
        summary,
        windows,
    )


def _no_data_alert(row: Mapping[str, object], scope: Mapping[str, str]) -> Alert:
    summary = f"{row['objective']}{_of(scope)}: no data; whether the objective is met cannot be told"
    return Alert(_key("no_data", row, scope), "SloscopeNoData", "ticket", str(row["objective"]), scope, summary)


def _explained(alert: Alert, told: Mapping[str, object] | None, link: str) -> Alert:
    if told is None or alert.name != "SloscopeErrorBudgetBurn":
        return replace(alert, link=link)
    causes = told.get("causes")
    top = causes[0] if isinstance(causes, list) and causes else {}
    cause = str(top.get("cause", ""))
    confidence = top.get("confidence")
    shown = f"{cause} ({confidence * 100:.0f} % sure)" if cause and isinstance(confidence, float) else cause
    return replace(
        alert,
        verdict=str(told.get("verdict", "")),
        cause=shown,
        next_step=str(top.get("next_step", "")),
        link=link,
    )


def _link(base: str, row: Mapping[str, object], scope: Mapping[str, str]) -> str:
    if not base:
        return ""
    return f"{base.rstrip('/')}/explain?{urlencode({'objective': str(row['objective']), **scope})}"


def _key(kind: str, row: Mapping[str, object], scope: Mapping[str, str]) -> str:
    return "|".join((kind, str(row["objective"]), *(f"{name}={value}" for name, value in sorted(scope.items()))))


def _of(scope: Mapping[str, str]) -> str:
    return f" ({', '.join(scope.values())})" if scope else ""
