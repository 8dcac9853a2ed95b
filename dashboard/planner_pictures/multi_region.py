"""Head-room of each region before a loss, and of the others after it."""

from __future__ import annotations

import altair as alt

from analytics.planners import Plan
from dashboard import theme
from dashboard.planner_pictures.frame import HEIGHT, Chart, beside, data, table

__all__ = ["picture"]

_SERVED = {"all work": "served_after_loss", "deferrable paused": "served_after_loss_deferrable_paused"}


def picture(plan: Plan) -> Chart:
    """Return utilisation at the peak and after losing each region, and how much of the lost traffic is served."""
    before, after = table(plan, "peak_utilisation_by_region"), table(plan, "utilisation_after_loss")
    rows = [
        {"region": region, "when": when, "utilisation": values.get(region)}
        for region in before
        for when, values in (("its own peak", before), ("the others after losing it", after))
    ]
    bars = (
        alt.Chart(data(rows))
        .mark_bar()
        .encode(
            x=alt.X("utilisation:Q", title="load / capacity", axis=alt.Axis(format="%")),
            y=alt.Y("when:N", title=None, sort=None, axis=alt.Axis(labelLimit=240)),
            row=alt.Row("region:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left")),
            color=alt.Color("when:N", legend=None, scale=alt.Scale(range=[theme.P50, theme.P99])),
            tooltip=["region:N", "when:N", alt.Tooltip("utilisation:Q", format=".0%")],
        )
        .properties(height=44, title="Head-room before and after a loss; over 100 % cannot be absorbed")
    )
    served = [
        {"region": region, "kind": kind, "served": share}
        for kind, step in (
            ("all work", "served_after_loss"),
            ("deferrable paused", "served_after_loss_deferrable_paused"),
        )
        for region, share in table(plan, step).items()
    ]
    shares = (
        alt.Chart(data(served))
        .mark_bar()
        .encode(
            x=alt.X("served:Q", title="share of the lost region's traffic served", axis=alt.Axis(format="%")),
            y=alt.Y("region:N", title="lost region"),
            yOffset="kind:N",
            color=alt.Color("kind:N", title=None, scale=alt.Scale(range=[theme.BAD, theme.GOOD])),
            tooltip=["region:N", "kind:N", alt.Tooltip("served:Q", format=".0%")],
        )
        .properties(height=HEIGHT, title="Who can be served elsewhere, residency included")
    )
    return beside(bars, shares)
