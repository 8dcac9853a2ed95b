"""The form of every change shape: how to know it, and how its JSON becomes changes; pure.

To add one: copy a sibling, add a line to the registry and a body to the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from signals.errors import InputError

KINDS = ("release", "config", "scale", "routing", "traffic", "fault", "note")
#: Longest summary; senders put whole logs into messages.
MAX_SUMMARY = 500
#: Labels or annotations that place a change; the first that is there counts.
PLACES: Mapping[str, tuple[str, ...]] = {
    "model": ("sloscope.io/model", "sloscope_model", "model", "model_name"),
    "model_version": ("sloscope.io/model-version", "model_version", "app.kubernetes.io/version"),
    "pool": ("sloscope.io/pool", "pool", "deployment", "app.kubernetes.io/name"),
    "instance": ("sloscope.io/instance", "instance", "pod"),
    "region": ("sloscope.io/region", "region", "topology.kubernetes.io/region"),
    "tenant": ("sloscope.io/tenant", "tenant", "team"),
}


@dataclass(frozen=True, slots=True)
class Change:
    """One row of the view `changes`."""

    ts: datetime
    kind: str
    summary: str
    source: str | None = None
    external_id: str | None = None
    model: str | None = None
    model_version: str | None = None
    pool: str | None = None
    instance: str | None = None
    region: str | None = None
    tenant: str | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """One sender's shape. `knows` looks at the content and lower-cased headers; `read` may return no change."""

    name: str
    knows: Callable[[Mapping[str, object], Mapping[str, str]], bool]
    read: Callable[[Mapping[str, object], Mapping[str, str], datetime], list[Change]]


def placed(labels: Mapping[str, object]) -> dict[str, str]:
    """Return the columns that labels or annotations name."""
    found = {}
    for column, names in PLACES.items():
        word = next((text(labels.get(name)) for name in names if text(labels.get(name))), None)
        if word is not None:
            found[column] = word
    return found


def text(value: object) -> str | None:
    """Return a non-empty text, number or boolean as text, else None."""
    if value is None or isinstance(value, Mapping | list):
        return None
    return str(value).strip()[:MAX_SUMMARY] or None


def mapping(value: object) -> Mapping[str, object]:
    """Return a JSON object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> list[Mapping[str, object]]:
    """Return the objects of a JSON list."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else []


def time_of(value: object, otherwise: datetime) -> datetime:
    """Return an RFC 3339 text or Unix seconds as a time in UTC; `otherwise` where there is none.

    Raise InputError when there is one that is no time, or one outside the years 2000 to 2200.
    """
    if value is None or value == "":
        return otherwise
    try:
        found = (
            datetime.fromtimestamp(float(value), UTC)
            if isinstance(value, int | float) and not isinstance(value, bool)
            else datetime.fromisoformat(str(value))
        )
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{str(value)[:60]!r} is no RFC 3339 time") from None
    moment = found if found.tzinfo else found.replace(tzinfo=UTC)
    if moment.year == 1:  # Go's zero time means "not set"
        return otherwise
    if not 2000 <= moment.year <= 2200:
        raise InputError(f"{str(value)[:60]!r} is outside the years 2000 to 2200")
    return moment.astimezone(UTC)
