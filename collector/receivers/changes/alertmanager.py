"""Alertmanager's webhook (version 4): a firing alert is a fault, its end a note."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from collector.receivers.changes.form import Change, Shape, items, mapping, placed, text, time_of


def _knows(content: Mapping[str, object], headers: Mapping[str, str]) -> bool:
    del headers
    return "alerts" in content and "groupKey" in content


def _read(content: Mapping[str, object], headers: Mapping[str, str], now: datetime) -> list[Change]:
    del headers
    return [_one(alert, now) for alert in items(content.get("alerts"))]


def _one(alert: Mapping[str, object], now: datetime) -> Change:
    labels, notes = mapping(alert.get("labels")), mapping(alert.get("annotations"))
    firing = alert.get("status") != "resolved"
    name = text(labels.get("alertname")) or "alert"
    told = text(notes.get("summary")) or text(notes.get("description")) or text(labels.get("severity")) or ""
    summary = f"{name}: {told}" if told else name
    return Change(
        time_of(alert.get("startsAt" if firing else "endsAt"), now),
        "fault" if firing else "note",
        (summary if firing else f"resolved: {summary}")[:500],
        "alertmanager",
        f"{text(alert.get('fingerprint')) or name}/{'firing' if firing else 'resolved'}",
        **placed(labels),
    )


ALERTMANAGER = Shape("alertmanager", _knows, _read)
