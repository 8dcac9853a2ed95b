"""Writes alerts as Alertmanager's `POST /api/v2/alerts` and as plain webhooks want them; opens no connection."""

from __future__ import annotations

from datetime import datetime, timedelta

from collector.answers.alerts import Alert, AlertRound, watchdog

#: Alertmanager forgets an alert that is not repeated; four evaluation rounds of 15 s, and then some.
ALIVE = timedelta(minutes=5)


def alertmanager_payload(alerts: AlertRound, now: datetime) -> list[dict[str, object]]:
    """Return the body of one POST: every open alert, those just over, and the watchdog. Send it every round."""
    firing = [_alertmanager(alert, now, now + ALIVE) for alert in (watchdog(), *alerts.active)]
    return firing + [_alertmanager(alert, now, now) for alert in alerts.resolved]


def webhook_payloads(alerts: AlertRound, now: datetime) -> list[dict[str, object]]:
    """Return one body for each alert that has to be said or is over."""
    return [_webhook("firing", alert, now) for alert in alerts.say] + [
        _webhook("resolved", alert, now) for alert in alerts.resolved
    ]


def heartbeat_payload(now: datetime) -> dict[str, object]:
    """Return the body that a dead man's switch should get every few minutes."""
    return _webhook("heartbeat", watchdog(), now)


def _alertmanager(alert: Alert, now: datetime, ends_at: datetime) -> dict[str, object]:
    texts = {
        "summary": alert.summary,
        "windows": alert.windows,
        "verdict": alert.verdict,
        "cause": alert.cause,
        "next_step": alert.next_step,
    }
    body: dict[str, object] = {
        "labels": {name: value for name, value in alert.labels().items() if value},
        "annotations": {name: text for name, text in texts.items() if text},
        "startsAt": _rfc3339(alert.started_at or now),
        "endsAt": _rfc3339(ends_at),
    }
    if alert.link:
        body["generatorURL"] = alert.link
    return body


def _webhook(event: str, alert: Alert, now: datetime) -> dict[str, object]:
    return {
        "event": event,
        "sent_at": _rfc3339(now),
        "key": alert.key,
        "alert": alert.name,
        "severity": alert.severity,
        "objective": alert.objective or None,
        "scope": dict(alert.scope),
        "started_at": None if alert.started_at is None else _rfc3339(alert.started_at),
        "summary": alert.summary,
        "verdict": alert.verdict or None,
        "cause": alert.cause or None,
        "next_step": alert.next_step or None,
        "link": alert.link or None,
        "text": _text(event, alert),
    }


def _text(event: str, alert: Alert) -> str:
    """Return the lines that a chat channel shows (the key that most chat webhooks read)."""
    lines = [f"[{event.upper()}] {alert.summary}"]
    lines += [f"Cause: {alert.cause}"] if alert.cause else []
    lines += [f"Next: {alert.next_step}"] if alert.next_step else []
    lines += [alert.link] if alert.link else []
    return "\n".join(lines)


def _rfc3339(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")
