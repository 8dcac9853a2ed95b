"""Names look-back windows and says which burn rules an objective has; looks at no data."""

from __future__ import annotations

from analytics.slo import BurnRule, Objective, automatic_rules


def window_name(seconds: float) -> str:
    """Return a window in its largest whole unit.

    >>> window_name(300), window_name(21600), window_name(28 * 86400)
    ('5m', '6h', '28d')
    """
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"


def rules_of(objective: Objective) -> tuple[BurnRule, ...]:
    """Return the burn rules of an objective: its own, else the workbook's capped to what can fire."""
    if objective.rules is not None:
        return objective.rules
    return automatic_rules(objective.target, objective.window_seconds)
