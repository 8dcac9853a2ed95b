"""A prefix tree against a scan of every instance, and what a failed instance sends back."""

from __future__ import annotations

import altair as alt

from analytics.planners import Plan
from dashboard import theme
from dashboard.planner_pictures.frame import HEIGHT, Chart, beside, data, figure

__all__ = ["picture"]


def picture(plan: Plan) -> Chart:
    """Return lookups by method as instances grow, and retries per failure by detection."""
    rate = figure(plan, "lookups_per_second_prefix_tree")
    here = float(getattr(plan.inputs, "instances", 1))
    counts = sorted({1.0, 10.0, 50.0, 100.0, 200.0, 500.0, 1000.0, here})
    rows = [
        {"instances": count, "method": method, "lookups": rate * (count if method == "scan" else 1)}
        for count in counts
        for method in ("scan", "prefix tree")
    ]
    curves = (
        alt.Chart(data(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("instances:Q", title="instances", scale=alt.Scale(type="log")),
            y=alt.Y("lookups:Q", title="lookups/s (log)", scale=alt.Scale(type="log")),
            color=alt.Color("method:N", scale=alt.Scale(range=[theme.GOOD, theme.BAD])),
            tooltip=["instances:Q", "method:N", alt.Tooltip("lookups:Q", format=",.0f")],
        )
        .properties(height=HEIGHT, title="Lookups: a tree does not grow with instances")
    )
    retries = [
        {"detection": "active checks", "requests": figure(plan, "requests_to_retry_per_failure")},
        {"detection": "passive", "requests": figure(plan, "requests_to_retry_passive")},
    ]
    bars = (
        alt.Chart(data(retries))
        .mark_bar(color=theme.GATEWAY)
        .encode(
            x=alt.X("requests:Q", title="requests to retry per failed instance"),
            y=alt.Y("detection:N", title=None),
            tooltip=["detection:N", "requests:Q"],
        )
        .properties(height=HEIGHT / 2, title="Retries by how a failure is noticed")
    )
    return beside(curves, bars)
