"""Finds the answer to a question by name and reads the parameters that answers share; computes nothing itself.

Answers are imported when they are first asked: scikit-learn and numba must not slow the start of ingestion.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from collector.api.services import Services
from signals.errors import ConfigError, UnknownNameError

T = TypeVar("T")
Answer = Callable[..., dict[str, object]]
#: Question → module:function under collector.answers; each takes (reader, now, ...).
QUESTIONS: dict[str, str] = {
    "status": "status:status",
    "forecast": "forecast:forecast",
    "explain": "explain:explain",
    "scale": "scale:scale",
    "request": "request:request",
    "plan": "plan:plan",
    "compare": "compare:compare",
    "timeline": "timeline:timeline",
    "inventory": "timeline:inventory",
}


def answer_to(question: str) -> Answer:
    """Return the function that answers a question."""
    if question not in QUESTIONS:
        raise UnknownNameError("question", question, QUESTIONS)
    found: Answer = function(QUESTIONS[question])
    return found


def function(place: str) -> Callable[..., T]:
    """Return the function at `module:name` under collector.answers."""
    module, _, name = place.partition(":")
    found: Callable[..., T] = getattr(importlib.import_module(f"collector.answers.{module}"), name)
    return found


async def ask(parts: Services, question: str, now: datetime | None, /, **parameters: object) -> dict[str, object]:
    """Return an answer at `now` (the clock when None), computed in a thread; parameters that are None are left out."""
    given = {name: value for name, value in parameters.items() if value is not None}

    def compute() -> dict[str, object]:
        return answer_to(question)(parts.store.reader(), now or parts.clock(), **given)

    return await asyncio.to_thread(compute)


def moment(text: str | None, name: str) -> datetime | None:
    """Return an RFC 3339 time; ConfigError names the parameter when it is none or has no offset."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.replace(" ", "+"))
    except ValueError:
        raise ConfigError(f"{name} must be an RFC 3339 time such as 2026-05-01T12:00:00Z, got {text!r}") from None
    if found.tzinfo is None:
        raise ConfigError(f"{name} needs an offset: {text}Z for UTC")
    return found


def now_of(parts: Services, text: str | None) -> datetime | None:
    """Return the moment an answer is given for: RFC 3339, `newest` for the newest stored time, None for the clock."""
    return parts.store.reader().newest() if text == "newest" else moment(text, "now")


_UNITS: Mapping[str, float] = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def seconds_of(text: str, name: str) -> float:
    """Return a duration such as 90s, 15m, 24h, 7d in seconds.

    >>> seconds_of("24h", "horizon")
    86400.0
    """
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS else (text, "s")
    try:
        found = float(number) * _UNITS[unit]
        timedelta(seconds=found)
    except (ValueError, OverflowError):
        raise ConfigError(f"{name} must be a duration such as 15m, 24h or 7d, got {text!r}") from None
    if not found > 0:
        raise ConfigError(f"{name} must be above 0, got {text!r}")
    return found


def folder_or_file(text: str) -> Path | None:
    """Return a configured path, None where none is configured."""
    return Path(text) if text else None
