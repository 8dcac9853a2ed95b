"""Tiers of a KV pool: sessions each holds, how a session comes back, and the hit ratio as capacity grows."""

from __future__ import annotations

import altair as alt

from analytics.planners import Plan
from dashboard import theme
from dashboard.planner_pictures.frame import HEIGHT, NARROW, Chart, beside, data, figure, table

__all__ = ["picture"]

_PERCENT = alt.Axis(format="%")
_TIERS = {"gpu": "GPU memory", "memory": "host memory", "ssd": "SSD"}


def picture(plan: Plan) -> Chart:
    """Return sessions and hit ratio by tier, and read-back against recomputing."""
    lru, value = table(plan, "hit_ratio_by_tier"), table(plan, "hit_ratio_by_tier_by_value")
    rows = [
        {
            "tier": label,
            "sessions": figure(plan, f"{tier}_sessions"),
            "LRU": lru.get(tier),
            "by value": value.get(tier),
        }
        for tier, label in _TIERS.items()
    ]
    sessions = (
        alt.Chart(data(rows))
        .mark_bar(color=theme.DECODE)
        .encode(
            x=alt.X("sessions:Q", title="sessions (log)", scale=alt.Scale(type="symlog")),
            y=alt.Y("tier:N", title=None, sort=None),
            tooltip=["tier:N", alt.Tooltip("sessions:Q", format=",.0f")],
        )
        .properties(height=HEIGHT / 2, title="Sessions that each tier holds")
    )
    hits = [{"tier": row["tier"], "eviction": kind, "hit": row[kind]} for row in rows for kind in ("LRU", "by value")]
    ratio = (
        alt.Chart(data(hits))
        .mark_line(point=True)
        .encode(
            x=alt.X("tier:N", title="tiers up to", sort=None),
            y=alt.Y(
                "hit:Q", title="share of turns that hit", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0, 1])
            ),
            color=alt.Color("eviction:N", scale=alt.Scale(range=[theme.P99, theme.GOOD])),
            tooltip=["tier:N", "eviction:N", alt.Tooltip("hit:Q", format=".1%")],
        )
        .properties(height=HEIGHT, width=NARROW, title="Hit ratio as tiers are added")
    )
    times = [
        {"way": "recompute", "seconds": figure(plan, "recompute_seconds")},
        {"way": "from SSD", "seconds": figure(plan, "ssd_read_seconds")},
        {"way": "from host memory", "seconds": figure(plan, "memory_read_seconds")},
    ]
    back = (
        alt.Chart(data(times))
        .mark_bar(color=theme.TRANSFER)
        .encode(
            x=alt.X("seconds:Q", title="seconds to bring a session back"),
            y=alt.Y("way:N", title=None, sort=None),
            tooltip=["way:N", alt.Tooltip("seconds:Q", format=".4f")],
        )
        .properties(height=HEIGHT / 2, title="Reading back against recomputing")
    )
    return beside(alt.vconcat(sessions, back), ratio)
