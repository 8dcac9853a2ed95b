"""Alerts are said once, again when worse, and taken back; silences and the heartbeat are honoured."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from analytics.slo.silence import Silence
from collector.answers.alert_payloads import alertmanager_payload, heartbeat_payload, webhook_payloads
from collector.answers.alerts import REPEAT, AlertBook, advance_alerts, find_alerts

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PAGE = {"severity": "page", "long": "1h", "short": "5m", "factor": 13.44}
TICKET = {"severity": "ticket", "long": "3d", "short": "6h", "factor": 0.93}


def row(*firing: dict[str, object], state: str = "burning", **scope: object) -> dict[str, object]:
    return {
        "objective": "chat",
        "model": "m/large",
        "state": state,
        "firing": list(firing),
        "burn_rate": {"1h": 20.0, "5m": 30.0, "3d": 2.0, "6h": 2.0},
        "budget_remaining": 0.4,
        **scope,
    }


def test_a_burning_row_makes_one_alert_of_its_highest_severity() -> None:
    (alert,) = find_alerts([row(TICKET, PAGE)])
    assert (alert.severity, alert.windows) == ("page", "1h and 5m")
    assert "burns 20.0 times too fast" in alert.summary
    assert "40 % of it left" in alert.summary


def test_no_data_is_an_alert_of_its_own_and_idle_is_none() -> None:
    alerts = find_alerts([row(state="no_data"), row(state="no_traffic", tenant="acme"), row(state="ok", tenant="b")])
    assert [alert.name for alert in alerts] == ["SloscopeNoData"]


def test_the_page_quotes_verdict_top_cause_next_step_and_a_link() -> None:
    told = {
        "verdict": "explained",
        "causes": [{"cause": "traffic_spike", "confidence": 0.83, "next_step": "add two instances"}],
    }
    (alert,) = find_alerts([row(PAGE)], explanations={"m/large": told}, dashboard_url="https://slo.example/")
    assert (alert.verdict, alert.cause, alert.next_step) == (
        "explained",
        "traffic_spike (83 % sure)",
        "add two instances",
    )
    assert alert.link == "https://slo.example/explain?objective=chat&model=m%2Flarge"


def test_the_same_alert_is_said_once_and_again_when_worse_or_after_hours() -> None:
    ticket, page = find_alerts([row(TICKET)]), find_alerts([row(PAGE)])
    first = advance_alerts(AlertBook(), ticket, NOW)
    again = advance_alerts(first.book, ticket, NOW + timedelta(minutes=1))
    worse = advance_alerts(again.book, page, NOW + timedelta(minutes=2))
    later = advance_alerts(worse.book, page, NOW + timedelta(minutes=2) + REPEAT)
    assert [len(one.say) for one in (first, again, worse, later)] == [1, 0, 1, 1]
    assert later.active[0].started_at == NOW


def test_a_cause_found_when_an_alert_began_stays_with_it() -> None:
    told = {"verdict": "explained", "causes": [{"cause": "preemption", "confidence": 0.9, "next_step": "add KV"}]}
    first = advance_alerts(AlertBook(), find_alerts([row(PAGE)], explanations={"m/large": told}), NOW)
    later = advance_alerts(first.book, find_alerts([row(PAGE)]), NOW + timedelta(seconds=15))
    assert later.active[0].cause == "preemption (90 % sure)"


def test_an_alert_that_stops_firing_is_resolved_once() -> None:
    first = advance_alerts(AlertBook(), find_alerts([row(PAGE)]), NOW)
    over = advance_alerts(first.book, (), NOW + timedelta(minutes=9))
    gone = advance_alerts(over.book, (), NOW + timedelta(minutes=10))
    assert [len(one.resolved) for one in (first, over, gone)] == [0, 1, 0]
    (body,) = webhook_payloads(over, NOW + timedelta(minutes=9))
    assert (body["event"], body["key"]) == ("resolved", "burn|chat|model=m/large")


def test_a_silence_holds_an_alert_back_and_it_is_said_when_the_silence_ends() -> None:
    silence = Silence({"model": "m/large"}, NOW, NOW + timedelta(hours=1), "on call", "known and being fixed")
    alerts = find_alerts([row(PAGE)])
    quiet = advance_alerts(AlertBook(), alerts, NOW, silences=(silence,))
    assert (quiet.say, quiet.active, quiet.silenced[0][1].reason) == ((), (), "known and being fixed")
    loud = advance_alerts(quiet.book, alerts, NOW + timedelta(hours=1), silences=(silence,))
    assert len(loud.say) == 1
    over = advance_alerts(quiet.book, (), NOW + timedelta(minutes=30), silences=(silence,))
    assert over.resolved == ()


def test_alertmanager_gets_every_open_alert_each_round_with_the_watchdog() -> None:
    first = advance_alerts(AlertBook(), find_alerts([row(PAGE)]), NOW)
    second = advance_alerts(first.book, find_alerts([row(PAGE)]), NOW + timedelta(seconds=15))
    body = alertmanager_payload(second, NOW + timedelta(seconds=15))
    assert [one["labels"]["alertname"] for one in body] == ["SloscopeWatchdog", "SloscopeErrorBudgetBurn"]
    assert body[1]["startsAt"] == "2026-03-01T12:00:00Z"
    assert body[1]["endsAt"] == "2026-03-01T12:05:15Z"
    assert all(value for one in body for value in one["labels"].values())
    over = advance_alerts(second.book, (), NOW + timedelta(minutes=1))
    assert alertmanager_payload(over, NOW + timedelta(minutes=1))[1]["endsAt"] == "2026-03-01T12:01:00Z"


def test_the_heartbeat_is_always_the_same_alert() -> None:
    assert heartbeat_payload(NOW)["alert"] == "SloscopeWatchdog"
    assert heartbeat_payload(NOW)["event"] == "heartbeat"
