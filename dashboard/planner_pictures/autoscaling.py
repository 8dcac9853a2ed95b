"""The timeline of a cold start by source and phase, beside the traffic that grows meanwhile and the standby for it."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt

from analytics.planners import Plan
from dashboard import theme
from dashboard.planner_pictures.frame import HEIGHT, NARROW, Chart, beside, data, table

__all__ = ["picture"]

_PHASES = {"process_start": theme.OTHER, "load": theme.TRANSFER, "compile": theme.QUEUE}


def picture(plan: Plan) -> Chart:
    """Return phases of a cold start as bars on a time axis, and standby by percentile of bursts."""
    found = plan.value("cold_start_by_source")
    rows = []
    if isinstance(found, Mapping):
        for source, phases in found.items():
            at = 0.0
            for phase in _PHASES:
                seconds = float(str(phases[phase])) if isinstance(phases, Mapping) else 0.0
                rows.append({"source": source.replace("_", " "), "phase": phase, "from": at, "to": at + seconds})
                at += seconds
    bars = (
        alt.Chart(data(rows))
        .mark_bar()
        .encode(
            x=alt.X("from:Q", title="seconds since the start"),
            x2="to:Q",
            y=alt.Y("source:N", title="weights from", sort=None),
            color=alt.Color("phase:N", scale=alt.Scale(domain=list(_PHASES), range=list(_PHASES.values()))),
            tooltip=["source:N", "phase:N", "from:Q", "to:Q"],
        )
        .properties(height=HEIGHT / 2, title="A cold start by where weights come from")
    )
    standby = [{"percentile": level, "standby": count} for level, count in table(plan, "standby_by_percentile").items()]
    more = (
        alt.Chart(data(standby))
        .mark_bar(color=theme.FORECAST)
        .encode(
            x=alt.X("percentile:N", title="share of windows that standby covers, per cent", sort=None),
            y=alt.Y("standby:Q", title="instances on hot standby"),
            tooltip=["percentile:N", "standby:Q"],
        )
        .properties(height=HEIGHT, width=NARROW, title="Standby by how rare a burst it must cover")
    )
    return beside(bars, more)
