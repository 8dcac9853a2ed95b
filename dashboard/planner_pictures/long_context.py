"""The cost curve of attention: prefill seconds over prompt length, dense and sparse, and questions on one document."""

from __future__ import annotations

import altair as alt

from analytics.planners import Plan
from analytics.planners.long_context import LongContextInputs
from dashboard import theme
from dashboard.planner_pictures.frame import HEIGHT, Chart, beside, data, table

__all__ = ["picture"]


def picture(plan: Plan) -> Chart:
    """Return prefill time by length with the planned length marked, and cached against uncached questions."""
    inputs = plan.inputs
    assert isinstance(inputs, LongContextInputs)
    lengths = [1_000 * 2**power for power in range(12)]
    rows = [
        {"tokens": tokens, "attention": kind, "seconds": inputs.prefill_seconds(tokens, sparse=kind == "sparse")}
        for tokens in lengths
        for kind in ("dense", "sparse")
    ]
    curve = (
        alt.Chart(data(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("tokens:Q", title="prompt tokens (log)", scale=alt.Scale(type="log")),
            y=alt.Y("seconds:Q", title="prefill seconds (log)", scale=alt.Scale(type="log")),
            color=alt.Color("attention:N", scale=alt.Scale(range=[theme.BAD, theme.GOOD])),
            tooltip=["tokens:Q", "attention:N", alt.Tooltip("seconds:Q", format=".3f")],
        )
    )
    rule = (
        alt.Chart(data([{"tokens": inputs.context_tokens}]))
        .mark_rule(color=theme.CHANGE, strokeDash=[4, 4])
        .encode(x="tokens:Q", tooltip=["tokens:Q"])
    )
    asked = [{"way": way, "seconds": seconds} for way, seconds in table(plan, "questions_seconds").items()]
    bars = (
        alt.Chart(data(asked))
        .mark_bar(color=theme.PREFILL)
        .encode(
            x=alt.X("seconds:Q", title="prefill seconds of all questions"),
            y=alt.Y("way:N", title=None),
            tooltip=["way:N", alt.Tooltip("seconds:Q", format=".2f")],
        )
        .properties(height=HEIGHT / 2, title="Questions about one document")
    )
    return beside(alt.layer(curve, rule).properties(height=HEIGHT, title="Prefill by prompt length"), bars)
