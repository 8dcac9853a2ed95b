"""Reads fields of one JSON line of a request log as numbers, text and times; never message text."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite

from signals.numbers import number

Line = Mapping[str, object]
#: Words that several writers put where they have no value.
NO_WORD = frozenset({"", "None", "null"})


def child(line: Line, *names: str) -> Line:
    """Return the first of `names` that holds an object, else an empty one."""
    for name in names:
        found = line.get(name)
        if isinstance(found, Mapping):
            return found
    return {}


def word(line: Line, *names: str) -> str | None:
    """Return the first of `names` that holds text or a number with a meaning, as text."""
    for name in names:
        value = line.get(name)
        if isinstance(value, str | int) and not isinstance(value, bool) and str(value) not in NO_WORD:
            return str(value)
    return None


def seconds(line: Line, *names: str, scale: float = 1.0) -> float | None:
    """Return the first of `names` as seconds >= 0; `scale` turns the writer's unit into seconds."""
    found = number(line, *names)
    return None if found is None or found < 0 else found * scale


def time_ns(line: Line, *names: str) -> int | None:
    """Return the first of `names` that holds a time, as Unix nanoseconds.

    Numbers are Unix seconds (milliseconds above 10^11, so until the year 5138); text is ISO 8601, UTC where it names
    no zone.
    """
    for name in names:
        value = line.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value) and value > 0:
            return round(value * 1_000_000) if value > 1e11 else round(value * 1_000_000_000)
        if isinstance(value, str):
            try:
                when = datetime.fromisoformat(value)
            except ValueError:
                continue
            aware = when if when.tzinfo else when.replace(tzinfo=UTC)
            since = aware - datetime(1970, 1, 1, tzinfo=UTC)
            return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
    return None
