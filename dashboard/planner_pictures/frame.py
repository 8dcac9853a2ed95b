"""What the planners' pictures share: rows as chart data, and cells of plans read as numbers; draws nothing itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from analytics.planners import Plan

__all__ = ["HEIGHT", "NARROW", "Chart", "beside", "data", "figure", "inputs", "table"]

#: What a picture returns.
Chart = alt.Chart | alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart
HEIGHT = 320
#: Width of a chart whose axis has few names.
NARROW = 280


def beside(*charts: Chart) -> Chart:
    """Return charts side by side, each with its own colours."""
    found: Chart = alt.hconcat(*charts).resolve_scale(color="independent")
    return found


def data(rows: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """Return rows as chart data."""
    return pd.DataFrame([dict(row) for row in rows])


def figure(plan: Plan, step: str) -> float:
    """Return a step that is one number, 0 where it has no answer."""
    value = plan.value(step)
    return 0.0 if value is None or isinstance(value, Mapping) else float(value)


def table(plan: Plan, step: str) -> dict[str, float]:
    """Return a step that is a table of numbers, without the cells that have no answer."""
    value = plan.value(step)
    if not isinstance(value, Mapping):
        return {}
    return {key: float(each) for key, each in value.items() if each is not None and not isinstance(each, Mapping)}


def inputs(plan: Plan, name: str) -> dict[str, float]:
    """Return a named input as a table."""
    return {str(key): float(each) for key, each in getattr(plan.inputs, name)}
