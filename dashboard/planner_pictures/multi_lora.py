"""Adapter reads: how much of the base each number of distinct adapters reads in a step, and where a batch stands."""

from __future__ import annotations

import altair as alt

from analytics.planners import Plan
from dashboard import theme
from dashboard.planner_pictures.frame import HEIGHT, Chart, beside, data, figure, table

__all__ = ["picture"]


def picture(plan: Plan) -> Chart:
    """Return read share over distinct adapters, with the expected batch by routing, and tenants' bills."""
    shares = table(plan, "read_share_of_base_by_distinct")
    per_adapter = next((share / float(count) for count, share in shares.items() if float(count) > 0), 0.0)
    batch = float(getattr(plan.inputs, "batch_requests", 1))
    rows = [{"distinct": count, "share": per_adapter * count} for count in (batch * step / 20 for step in range(1, 21))]
    line = (
        alt.Chart(data(rows))
        .mark_line(color=theme.P99)
        .encode(
            x=alt.X("distinct:Q", title="distinct adapters in a batch"),
            y=alt.Y("share:Q", title="adapter reads / base reads", axis=alt.Axis(format="%")),
        )
    )
    routings = [
        {
            "routing": "anywhere",
            "distinct": figure(plan, "distinct_adapters_expected"),
            "share": figure(plan, "read_share_of_base_expected"),
        },
        {
            "routing": "affinity",
            "distinct": figure(plan, "distinct_adapters_with_affinity"),
            "share": figure(plan, "read_share_of_base_with_affinity"),
        },
    ]
    points = (
        alt.Chart(data(routings))
        .mark_point(size=160, filled=True)
        .encode(
            x="distinct:Q",
            y="share:Q",
            color=alt.Color("routing:N", scale=alt.Scale(range=[theme.GOOD, theme.BAD])),
            tooltip=["routing:N", alt.Tooltip("distinct:Q", format=".1f"), alt.Tooltip("share:Q", format=".1%")],
        )
    )
    bills = [{"tenant": tenant, "usd": usd} for tenant, usd in table(plan, "usd_per_tenant_and_day").items()]
    bars = (
        alt.Chart(data(bills))
        .mark_bar(color=theme.TRANSFER)
        .encode(
            x=alt.X("usd:Q", title="USD a day, by tokens"),
            y=alt.Y("tenant:N", title=None, sort="-x"),
            tooltip=["tenant:N", alt.Tooltip("usd:Q", format=",.2f")],
        )
        .properties(height=HEIGHT, title="What each tenant costs")
    )
    reads = alt.layer(line, points).properties(height=HEIGHT, title="Adapter weights read in a step")
    return beside(reads, bars)
