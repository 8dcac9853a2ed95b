"""What a receiver did not take is said again: a new alert, and a resolution."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from collector.answers.alerts import Alert, AlertBook, advance_alerts
from collector.jobs.alerting import _undelivered

NOW = datetime(2026, 5, 1, tzinfo=UTC)
FIRE = Alert(key="burn/a", name="Burn", severity="page", objective="a", scope={}, summary="burns")


def test_a_new_alert_that_was_not_taken_is_said_again() -> None:
    first = advance_alerts(AlertBook(), [FIRE], NOW)
    second = advance_alerts(_undelivered(AlertBook(), first), [FIRE], NOW + timedelta(seconds=15))
    assert [alert.key for alert in second.say] == ["burn/a"]
    assert second.say[0].started_at == NOW


def test_a_resolution_that_was_not_taken_is_said_again() -> None:
    opened = advance_alerts(AlertBook(), [FIRE], NOW)
    closed = advance_alerts(opened.book, [], NOW + timedelta(seconds=15))
    again = advance_alerts(_undelivered(opened.book, closed), [], NOW + timedelta(seconds=30))
    assert [alert.key for alert in closed.resolved] == [alert.key for alert in again.resolved] == ["burn/a"]


def test_what_was_taken_is_not_said_again() -> None:
    first = advance_alerts(AlertBook(), [FIRE], NOW)
    assert advance_alerts(first.book, [FIRE], NOW + timedelta(seconds=15)).say == ()
