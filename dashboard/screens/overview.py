"""Are the objectives met? Budget, traffic, latency against the objective, engine state."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dashboard import charts, theme
from dashboard.client import Client, client
from dashboard.filters import Filters, choose
from dashboard.frame import framed, rows, say_if_empty, scope_of, text


def show(ask: Client) -> None:
    """Draw the page."""
    filters = choose(ask)
    if say_if_empty(ask.inventory()):
        return
    objectives = [row for row in rows(ask.status(), "objectives") if _tells(row)]
    if filters.model:
        objectives = [row for row in objectives if row.get("model") in {filters.model, None}]
    if not objectives:
        st.info("No objective speaks of this model: choose another one, or all.")
        return
    _worst(objectives)
    _objective_table(objectives)
    threshold = _threshold(objectives)
    _course(ask, filters, threshold)


def _tells(row: Mapping[str, object]) -> bool:
    """Return whether a row is worth showing: requests whose model is unknown are, once they have events."""
    return bool(row.get("model") or row.get("good") or row.get("bad") or row.get("unattributed_bad"))


def _worst(objectives: list[dict[str, object]]) -> None:
    order = {"exhausted": 0, "burning": 1, "no_data": 2, "ok": 3, "no_traffic": 4}
    row = min(objectives, key=lambda item: (order.get(text(item, "state"), 5), _budget(item)))
    cells = st.columns(4)
    cells[0].metric("State", _state(row), help="The worst of the objectives below. No data is not the same as idle.")
    cells[1].metric(
        f"Good, target {theme.percent(row.get('target'), 1)}",
        theme.percent(row.get("ratio")),
        help="Good events over all that count. Client errors and a tenant's own rate limits are left out.",
    )
    cells[2].metric(
        "Error budget left",
        theme.percent(row.get("budget_remaining"), 0),
        help="What is left of the bad events that the objective allows in its window. Below 0: spent.",
    )
    burn = row.get("burn_rate")
    rate = burn.get("1h") if isinstance(burn, Mapping) else None
    cells[3].metric(
        "Burn rate, 1 h",
        theme.number(rate),
        help="1 spends the budget exactly in the window; 14.4 over one hour pages. High: see Explain.",
    )


def _budget(row: Mapping[str, object]) -> float:
    left = row.get("budget_remaining")
    return float(left) if isinstance(left, int | float) else 1.0


def _objective_table(objectives: list[dict[str, object]]) -> None:
    shown = [
        {
            "objective": row.get("objective"),
            "scope": scope_of(row),
            "state": _state(row),
            "good": theme.percent(row.get("ratio")),
            "target": theme.percent(row.get("target"), 1),
            "budget left": theme.percent(row.get("budget_remaining"), 0),
            "P50": theme.seconds(row.get("p50")),
            "P99": theme.seconds(row.get("p99")),
            "P99 lies in": theme.interval(row.get("p99_interval")),
            "coverage": theme.percent(row.get("coverage"), 0),
        }
        for row in objectives
    ]
    st.dataframe(shown, hide_index=True, width="stretch")


def _state(row: Mapping[str, object]) -> str:
    state = text(row, "state")
    return theme.STATES.get(state, state)


def _threshold(objectives: list[dict[str, object]]) -> float | None:
    for row in objectives:
        limits = row.get("thresholds")
        limit = limits.get("ttft_seconds") if isinstance(limits, Mapping) else None
        if isinstance(limit, int | float):
            return float(limit)
    return None


def _course(ask: Client, filters: Filters, threshold: float | None) -> None:
    found = ask.timeline(filters.query())
    points, engine, changes = rows(found, "points"), rows(found, "engine"), rows(found, "changes")
    step = found.get("step_seconds")
    width = float(step) if isinstance(step, int | float) else 60.0
    if not points and not engine:
        st.info("Nothing happened in this window: no request arrived and no engine was sampled.")
        return
    left, right = st.columns(2)
    with left:
        st.subheader("Time to first token", help="Arrival to first token as users saw it. Above the line is bad.")
        if points:
            st.altair_chart(charts.latency(points, "ttft", threshold, changes))
        else:
            st.info("No traffic in this window.")
        st.subheader("Requests waiting and running", help="Waiting grows when seats or KV memory run out: see Explain.")
        if engine:
            st.altair_chart(
                charts.lines(
                    engine,
                    {"queue_depth": "waiting", "running": "running"},
                    [theme.QUEUE, theme.DECODE],
                    "requests",
                    changes,
                )
            )
        else:
            st.info("No engine was sampled in this window.")
    with right:
        st.subheader("Traffic", help="Requests by arrival. Failed and aborted count against the objective.")
        if points:
            st.altair_chart(charts.traffic(points, width, changes))
        st.subheader("KV memory in use", help="Near 100 % the engine preempts running requests or stops admitting.")
        if engine:
            st.altair_chart(
                charts.lines(
                    engine,
                    {"kv_usage_ratio": "mean", "kv_usage_max_ratio": "fullest"},
                    [theme.P50, theme.P99],
                    "share of KV blocks",
                    changes,
                    ratio=True,
                )
            )
    if points:
        st.subheader("Where the first token's time goes", help="Mean by stage; needs engine spans.")
        st.altair_chart(charts.stages(points))


with framed("Overview", "Are users' latency objectives met, and how much budget is left?"):
    show(client())
