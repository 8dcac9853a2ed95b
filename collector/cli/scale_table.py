"""How recommendations read in a table for people: each figure with its interval and basis; changes no figure."""

from __future__ import annotations

from collections.abc import Mapping

from collector.cli.output import cell

__all__ = ["brief", "reasons"]

#: Said where there is no recommendation, so that an empty answer names what it lacks.
NO_POOL = "no pool: no instance of any engine is sampled yet; sample one, or name pools with --pools FILE"


def brief(answer: Mapping[str, object]) -> dict[str, object]:
    """Return the answer with one short cell for the demand and one for the capacity of each recommendation."""
    return {**answer, "recommendations": [{**row, **_cells(row)} for row in _rows(answer)]}


def reasons(answer: Mapping[str, object]) -> list[str]:
    """Return the lines above the table: why, what the demand and the capacity rest on, the cold start by phase."""
    rows = _rows(answer)
    return [f"{row.get('pool')}: {line}" for row in rows for line in _lines(row)] or [NO_POOL]


def _rows(answer: Mapping[str, object]) -> list[Mapping[str, object]]:
    found = answer.get("recommendations")
    return [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []


def _cells(row: Mapping[str, object]) -> dict[str, str]:
    demand, capacity = _mapping(row.get("demand")), _mapping(row.get("capacity_per_instance"))
    interval = capacity.get("interval")
    low, high = interval if isinstance(interval, list | tuple) and len(interval) == 2 else (None, None)
    known = f" [{cell(low)}, {cell(high)}]" if low is not None or high is not None else ""
    return {
        "demand": f"{cell(demand.get('now'))} now, q90 {cell(demand.get('q90'))}",
        "capacity_per_instance": f"{cell(capacity.get('value'))}{known}",
    }


def _lines(row: Mapping[str, object]) -> list[str]:
    because = row.get("because")
    advice = row.get("advice")
    demand, capacity = _mapping(row.get("demand")), _mapping(row.get("capacity_per_instance"))
    by_length = _mapping(capacity.get("by_length"))
    corrected = [str(by_length["because"])] if by_length.get("applied") else []
    unit, basis, windows = demand.get("unit"), demand.get("basis"), cell(capacity.get("windows"))
    return [
        *(str(line) for line in (because if isinstance(because, list) else [])),
        *(str(line) for line in (advice if isinstance(advice, list) else [])),
        f"in {unit}; demand from {basis}; capacity from {capacity.get('from')}, {windows} windows",
        *corrected,
        *_cold_start(row.get("cold_start")),
    ]


def _cold_start(found: object) -> list[str]:
    """Return the cold start as one line, with the phases that were seen and the names of those that were not."""
    if not isinstance(found, Mapping):
        return []
    phases = _mapping(found.get("phases"))
    seen = [f"{name} {cell(seconds)} s" for name, seconds in phases.items() if seconds is not None]
    unseen = [str(name) for name, seconds in phases.items() if seconds is None]
    line = f"cold start P95 {cell(found.get('p95_seconds'))} s ({found.get('from')})"
    if seen:
        line += f": {', '.join(seen)}" + (f"; not seen: {', '.join(unseen)}" if unseen else "")
    return [line]


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}
