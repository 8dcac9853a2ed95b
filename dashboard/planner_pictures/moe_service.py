"""Units and machines of a mixture-of-experts service: each role's GPUs needed, deployed and with spare units."""

from __future__ import annotations

import altair as alt

from analytics.planners import Plan
from dashboard import theme
from dashboard.planner_pictures.frame import HEIGHT, Chart, data, figure

__all__ = ["picture"]


def picture(plan: Plan) -> Chart:
    """Return blocks of units by role: one block is one unit that fails as a whole."""
    rows = []
    for role, colour in (("prefill", theme.PREFILL), ("decode", theme.DECODE)):
        size = float(getattr(plan.inputs, f"{role}_unit_gpus"))
        for kind, units in (
            ("with headroom", figure(plan, f"{role}_units")),
            ("with spare units", figure(plan, f"n_plus_one_{role}_units")),
        ):
            shown = int(min(units, 200))
            rows += [
                {"row": f"{role}, {kind}", "from": place * size, "to": (place + 1) * size, "colour": colour}
                for place in range(shown)
            ]
    needed = [
        {"row": f"{role}, with headroom", "needed": figure(plan, f"{role}_gpus")} for role in ("prefill", "decode")
    ]
    units = (
        alt.Chart(data(rows))
        .mark_bar(stroke="white", strokeWidth=2)
        .encode(
            x=alt.X("from:Q", title="GPUs (one block is one unit)"),
            x2="to:Q",
            y=alt.Y("row:N", title=None, sort=None, axis=alt.Axis(labelLimit=240)),
            color=alt.Color("colour:N", scale=None),
            tooltip=["row:N", "from:Q", "to:Q"],
        )
    )
    lines = (
        alt.Chart(data(needed))
        .mark_tick(color=theme.SLO_LINE, thickness=3, size=40)
        .encode(x="needed:Q", y=alt.Y("row:N", sort=None), tooltip=["needed:Q"])
    )
    return alt.layer(units, lines).properties(height=HEIGHT, title="Units deployed, and GPUs needed at the peak (red)")
