"""Reads the calendar of declared days (holidays, launches, closures) from a file; guesses no holiday."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import yaml

from analytics.forecast import Event
from signals.errors import ConfigError, nearest

__all__ = ["load_calendar"]

KEYS = ("day", "like", "factor", "name")


def load_calendar(path: Path) -> tuple[Event, ...]:
    """Return the declared days of a YAML file, `events:` with `day` and `like`, `factor`, `name`; see `Event`.

    Raises ConfigError that names every fault as file: place.
    """
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error
    rows = document.get("events") if isinstance(document, Mapping) else None
    if not isinstance(rows, list):
        raise ConfigError(f"{path}: expected a list under `events`")
    faults: list[str] = []
    found = [_event(row, f"{path}: events[{place}]", faults) for place, row in enumerate(rows)]
    if faults:
        raise ConfigError(f"{path}: {len(faults)} faults", faults)
    return tuple(event for event in found if event is not None)


def _event(row: object, place: str, faults: list[str]) -> Event | None:
    if not isinstance(row, Mapping):
        faults.append(f"{place}: expected keys {', '.join(KEYS)}")
        return None
    faults += [f"{place}: unknown key {key!r}{nearest(str(key), KEYS)}" for key in row if key not in KEYS]
    day, like, factor = row.get("day"), row.get("like"), row.get("factor", 1.0)
    known = len(faults)
    if type(day) is not date:  # a datetime is a date too, and names no day of the local calendar
        faults.append(f"{place}: day must be a date such as 2026-12-25, got {day!r}")
    if like is not None and not isinstance(like, str):
        faults.append(f"{place}: like must be a weekday or 'unusual', got {like!r}")
    if isinstance(factor, bool) or not isinstance(factor, int | float):
        faults.append(f"{place}: factor must be a number above 0, got {factor!r}")
    if len(faults) > known or type(day) is not date:
        return None
    try:
        return Event(day, like, float(factor), str(row.get("name", "")))
    except ConfigError as error:
        faults.append(f"{place}: {error.message}")
        return None
