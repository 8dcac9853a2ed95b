"""Mask time against step time: where the CPU's masks stop hiding behind the GPU's step as the batch grows."""

from __future__ import annotations

import altair as alt

from analytics.planners import Plan
from analytics.planners.structured_output import StructuredOutputInputs
from dashboard import theme
from dashboard.planner_pictures.frame import HEIGHT, Chart, data

__all__ = ["picture"]


def picture(plan: Plan) -> Chart:
    """Return mask milliseconds over the batch by method, with the step as a line."""
    inputs = plan.inputs
    assert isinstance(inputs, StructuredOutputInputs)
    batches = [2**power for power in range(12)]
    methods = [*inputs.mask_seconds_per_request, ("in use", inputs.mask_seconds)]
    rows = [
        {"batch": batch, "method": method, "milliseconds": batch * seconds / inputs.mask_threads * 1e3}
        for batch in batches
        for method, seconds in methods
        if seconds > 0
    ]
    curves = (
        alt.Chart(data(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("batch:Q", title="constrained requests in a batch (log)", scale=alt.Scale(type="log", base=2)),
            y=alt.Y("milliseconds:Q", title="ms of masks per step (log)", scale=alt.Scale(type="log")),
            color=alt.Color("method:N", title="masks"),
            tooltip=["batch:Q", "method:N", alt.Tooltip("milliseconds:Q", format=".2f")],
        )
    )
    step = (
        alt.Chart(data([{"milliseconds": inputs.step_seconds * 1e3}]))
        .mark_rule(color=theme.SLO_LINE)
        .encode(y="milliseconds:Q", tooltip=[alt.Tooltip("milliseconds:Q", title="GPU step, ms")])
    )
    return alt.layer(curves, step).properties(height=HEIGHT, title="Masks hide below the line: the GPU's step")
