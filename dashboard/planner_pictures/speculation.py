"""Speed-up of speculation by acceptance and batch, with the line at which it stops paying."""

from __future__ import annotations

import altair as alt

from analytics.planners import Plan
from analytics.planners.speculation import SpeculationInputs
from analytics.planners.step_time import StepTime
from dashboard import theme
from dashboard.planner_pictures.frame import HEIGHT, Chart, data

__all__ = ["picture"]

_RATES = (0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


def picture(plan: Plan) -> Chart:
    """Return speed-up over the batch for several acceptance rates, at the drafts in use."""
    inputs = plan.inputs
    assert isinstance(inputs, SpeculationInputs)
    time = StepTime(inputs.step_base_seconds, inputs.step_seconds_per_token, inputs.draft_cost_ratio)
    rates = sorted({*_RATES, round(inputs.acceptance_rate, 3)})
    batches = [2**power for power in range(12)]
    rows = [
        {"batch": batch, "acceptance": f"{rate:g}", "speedup": time.speedup(batch, rate, inputs.draft_tokens)}
        for batch in batches
        for rate in rates
    ]
    curves = (
        alt.Chart(data(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("batch:Q", title="requests in a batch (log)", scale=alt.Scale(type="log", base=2)),
            y=alt.Y("speedup:Q", title="speed-up, ratio"),
            color=alt.Color("acceptance:N", scale=alt.Scale(scheme="viridis"), title="acceptance"),
            tooltip=["batch:Q", "acceptance:N", alt.Tooltip("speedup:Q", format=".2f")],
        )
    )
    even = alt.Chart(data([{"one": 1}])).mark_rule(color=theme.SLO_LINE).encode(y="one:Q")
    return alt.layer(curves, even).properties(
        height=HEIGHT, title=f"Speed-up with {inputs.draft_tokens} drafts by acceptance; below the line it harms"
    )
