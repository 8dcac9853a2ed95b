"""The rollout pipeline: GPUs, utilisation and staleness as generation runs further ahead of training."""

from __future__ import annotations

import altair as alt

from analytics.planners import Plan
from dashboard import theme
from dashboard.planner_pictures.frame import HEIGHT, Chart, beside, data, inputs, table

__all__ = ["picture"]

_MODES = {"sync": "synchronous", "one_step_async": "one step ahead", "full_async": "fully asynchronous"}


def picture(plan: Plan) -> Chart:
    """Return GPUs and staleness by mode, and the answer lengths that cause the tail."""
    gpus, ages = table(plan, "tail_gpus"), table(plan, "staleness_mean_steps")
    busy = table(plan, "tail_utilisation")
    rows = [
        {"mode": label, "gpus": gpus.get(mode), "utilisation": busy.get(mode), "staleness": ages.get(mode)}
        for mode, label in _MODES.items()
    ]
    bars = (
        alt.Chart(data(rows))
        .mark_bar(color=theme.DECODE)
        .encode(
            x=alt.X("gpus:Q", title="GPUs to keep up with training"),
            y=alt.Y("mode:N", title=None, sort=None),
            tooltip=["mode:N", alt.Tooltip("gpus:Q", format=".1f"), alt.Tooltip("utilisation:Q", format=".0%")],
        )
        .properties(height=HEIGHT / 2, title="GPUs by pipelining")
    )
    stale = (
        alt.Chart(data(rows))
        .mark_bar(color=theme.QUEUE)
        .encode(
            x=alt.X("staleness:Q", title="mean age of samples in training steps"),
            y=alt.Y("mode:N", title=None, sort=None),
            tooltip=["mode:N", alt.Tooltip("staleness:Q", format=".2f")],
        )
        .properties(height=HEIGHT / 2, title="Staleness by pipelining")
    )
    lengths = [
        {"percentile": float(level), "tokens": tokens} for level, tokens in inputs(plan, "output_tokens_at").items()
    ]
    tail = (
        alt.Chart(data(lengths))
        .mark_line(point=True, color=theme.P99)
        .encode(
            x=alt.X("percentile:Q", title="percentile of answers"),
            y=alt.Y("tokens:Q", title="tokens"),
            tooltip=["percentile:Q", alt.Tooltip("tokens:Q", format=",.0f")],
        )
        .properties(height=HEIGHT, title="Answer lengths: the tail that a step waits for")
    )
    return beside(alt.vconcat(bars, stale), tail)
