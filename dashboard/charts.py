"""Draws time series, stages and forecast bands; each chart names its unit, latency charts carry the SLO line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import pandas as pd

from dashboard import theme

Rows = Sequence[Mapping[str, object]]
HEIGHT = 220
#: Labels of a growing axis that a chart of that height can hold without overlap.
MAX_TICKS = 7


def latency(rows: Rows, metric: str, slo_seconds: float | None, changes: Rows = ()) -> alt.LayerChart:
    """P50 and P99 of one latency over time, with the objective's threshold as a line."""
    frame = _long(rows, {f"{metric}_p50": "P50", f"{metric}_p99": "P99"})
    lines = (
        alt.Chart(frame)
        .mark_line(point=alt.OverlayMarkDef(size=18), interpolate="monotone")
        .encode(
            x=_time(),
            y=alt.Y(
                "value:Q",
                title="seconds",
                scale=alt.Scale(type="symlog", constant=0.05),
                axis=alt.Axis(  # values beyond the theme's tick count would be thinned to the first and the last
                    values=_ticks(frame, slo_seconds),
                    tickCount=MAX_TICKS + 1,
                    labelExpr="'' + datum.value",
                    labelOverlap=False,
                ),
            ),
            color=alt.Color(
                "series:N", title=None, scale=alt.Scale(domain=["P50", "P99"], range=[theme.P50, theme.P99])
            ),
            tooltip=["ts:T", "series:N", alt.Tooltip("value:Q", format=".3f", title="seconds")],
        )
    )
    layers: list[alt.Chart] = [lines]
    if slo_seconds is not None:
        line = pd.DataFrame({"y": [slo_seconds], "label": [f"objective {theme.seconds(slo_seconds)}"]})
        rule = alt.Chart(line).mark_rule(color=theme.SLO_LINE, strokeDash=[6, 4], strokeWidth=1.5).encode(y="y:Q")
        text = (
            alt.Chart(line)
            .mark_text(color=theme.SLO_LINE, align="left", dx=4, dy=-6)
            .encode(y="y:Q", x=alt.value(0), text="label:N")
        )
        layers += [rule, text]
    return _finish([*layers, *_marks(changes)])


def _ticks(frame: pd.DataFrame, slo_seconds: float | None) -> list[float]:
    """Return 0 and the steps 1 and 3 of the decades below the largest value, for an axis that grows by factors."""
    highest = max([slo_seconds or 0.0, *(frame["value"].dropna() if "value" in frame else ())], default=0.0)
    steps = [float(f"{digit}e{power}") for power in range(-3, 5) for digit in (1, 3)]
    return [0.0, *[step for step in steps if step <= max(highest, 0.01) * 2.0][-MAX_TICKS:]]


def lines(
    rows: Rows,
    columns: Mapping[str, str],
    colours: Sequence[str],
    unit: str,
    changes: Rows = (),
    *,
    ratio: bool = False,
) -> alt.LayerChart:
    """Plain lines of several columns in one unit."""
    frame = _long(rows, columns)
    names = list(columns.values())
    axis = alt.Axis(format="%") if ratio else alt.Axis()
    scale = alt.Scale(domain=[0, 1]) if ratio else alt.Scale(zero=True)
    chart = (
        alt.Chart(frame)
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=_time(),
            y=alt.Y("value:Q", title=unit, axis=axis, scale=scale),
            color=alt.Color("series:N", title=None, scale=alt.Scale(domain=names, range=list(colours))),
            tooltip=["ts:T", "series:N", alt.Tooltip("value:Q", format=".4g", title=unit)],
        )
    )
    return _finish([chart, *_marks(changes)])


def traffic(rows: Rows, step_seconds: float, changes: Rows = ()) -> alt.LayerChart:
    """Requests per second, good beside failed and aborted."""
    shaped = []
    for row in rows:
        total, failed, aborted = (_value(row.get(name)) or 0.0 for name in ("requests", "failed", "aborted"))
        for series, value in (("served", total - failed - aborted), ("failed", failed), ("aborted", aborted)):
            shaped.append({"ts": row["ts"], "series": series, "value": value / step_seconds})
    frame = _frame(shaped)
    chart = (
        alt.Chart(frame)
        .mark_area(interpolate="step-after", opacity=0.85)
        .encode(
            x=_time(),
            y=alt.Y("value:Q", title="requests per second", stack=True),
            color=alt.Color(
                "series:N",
                title=None,
                scale=alt.Scale(domain=["served", "failed", "aborted"], range=[theme.DECODE, theme.BAD, theme.OTHER]),
            ),
            tooltip=["ts:T", "series:N", alt.Tooltip("value:Q", format=".3g", title="requests/s")],
        )
    )
    return _finish([chart, *_marks(changes)])


def stages(rows: Rows) -> alt.LayerChart:
    """Mean seconds to first token by stage, stacked."""
    names = {"gateway_seconds": "gateway", "queue_seconds": "queue", "prefill_seconds": "prefill"}
    frame = _long(rows, names)
    chart = (
        alt.Chart(frame)
        .mark_area(interpolate="step-after", opacity=0.9)
        .encode(
            x=_time(),
            y=alt.Y("value:Q", title="mean seconds", stack=True),
            color=alt.Color(
                "series:N",
                title=None,
                scale=alt.Scale(
                    domain=list(names.values()), range=[theme.STAGE_COLOURS[name] for name in names.values()]
                ),
            ),
            tooltip=["ts:T", "series:N", alt.Tooltip("value:Q", format=".3f", title="seconds")],
        )
    )
    return _finish([chart])


def forecast(points: Rows, unit: str) -> alt.LayerChart:
    """The forecast's median inside its bands; dashed, because it has not happened."""
    frame = _frame(points)
    base = alt.Chart(frame).encode(x=_time())
    wide = base.mark_area(opacity=0.15, color=theme.FORECAST).encode(y=alt.Y("q10:Q", title=unit), y2="q99:Q")
    band = base.mark_area(opacity=0.25, color=theme.FORECAST).encode(y="q10:Q", y2="q90:Q")
    middle = base.mark_line(color=theme.FORECAST, strokeDash=[6, 4]).encode(
        y="q50:Q",
        tooltip=["ts:T", *(alt.Tooltip(f"{name}:Q", format=".3g") for name in ("q10", "q50", "q90", "q99"))],
    )
    return _finish([wide, band, middle])


def timeline_of(steps: Rows) -> alt.LayerChart:
    """One request's stages as bars from its arrival."""
    shaped = [
        {
            "stage": step.get("stage"),
            "from": _value(step.get("start_seconds")) or 0.0,
            "to": (_value(step.get("start_seconds")) or 0.0) + (_value(step.get("seconds")) or 0.0),
            "seconds": _value(step.get("seconds")),
        }
        for step in steps
    ]
    names = list(theme.STAGE_COLOURS)
    chart = (
        alt.Chart(pd.DataFrame(shaped))
        .mark_bar(height=22)
        .encode(
            x=alt.X("from:Q", title="seconds since arrival"),
            x2="to:Q",
            y=alt.Y("stage:N", title=None, sort=names),
            color=alt.Color(
                "stage:N", legend=None, scale=alt.Scale(domain=names, range=list(theme.STAGE_COLOURS.values()))
            ),
            tooltip=["stage:N", alt.Tooltip("seconds:Q", format=".3f")],
        )
    )
    return _finish([chart])


def _marks(changes: Rows) -> list[alt.Chart]:
    """Vertical rules where something was changed."""
    if not changes:
        return []
    frame = _frame(changes)
    return [
        alt.Chart(frame)
        .mark_rule(color=theme.CHANGE, strokeDash=[2, 2])
        .encode(x="ts:T", tooltip=["ts:T", "kind:N", "summary:N"])
    ]


def _finish(layers: Sequence[alt.Chart]) -> alt.LayerChart:
    chart: alt.LayerChart = alt.layer(*layers).properties(height=HEIGHT).configure_legend(orient="top")
    return chart


def _time() -> alt.X:
    return alt.X("ts:T", title=None)


def _long(rows: Rows, columns: Mapping[str, str]) -> pd.DataFrame:
    return _frame(
        [
            {"ts": row["ts"], "series": label, "value": _value(row.get(name))}
            for row in rows
            for name, label in columns.items()
        ]
    )


def _frame(rows: Rows) -> pd.DataFrame:
    frame = pd.DataFrame(list(rows))
    if "ts" in frame:
        frame["ts"] = pd.to_datetime(frame["ts"], utc=True, format="ISO8601")
    return frame


def _value(cell: object) -> float | None:
    return float(cell) if isinstance(cell, int | float) else None
