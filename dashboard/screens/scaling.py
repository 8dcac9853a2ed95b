"""How many instances next? Each pool's recommendation with its reasons, and the forecast behind it."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dashboard import charts, theme
from dashboard.client import Client, client
from dashboard.filters import choose
from dashboard.frame import framed, rows, say_if_empty, text
from signals.errors import SloscopeError

SIGNALS = {"requests": "requests", "input_tokens": "input tokens", "output_tokens": "output tokens"}
HORIZONS = ("1h", "6h", "24h", "72h")


def show(ask: Client) -> None:
    """Draw the page."""
    filters = choose(ask, need_model=True)
    if say_if_empty(ask.inventory()):
        return
    found = rows(ask.recommendations(), "recommendations")
    if not found:
        st.info("No instance was sampled: there is nothing to scale.")
        return
    for row in found:
        _pool(row)
    if filters.model is not None:
        _forecast(ask, filters.model, filters.tenant)


def _pool(row: Mapping[str, object]) -> None:
    with st.container(border=True):
        action = theme.ACTIONS.get(text(row, "action"), text(row, "action"))
        st.subheader(f"{text(row, 'pool')}: {action}")
        cells = st.columns(5)
        cells[0].metric("Ready now", text(row, "current"), help="Ready instances of this pool.")
        change = _difference(row)
        cells[1].metric("Proposed", text(row, "proposed"), delta=change, delta_color="off")
        demand, capacity = row.get("demand"), row.get("capacity_per_instance")
        cells[2].metric(
            "Demand, q90",
            theme.number(demand.get("q90")) if isinstance(demand, Mapping) else "–",
            help="Requests per second that must be served when a new instance would be ready; 9 of 10 times not more.",
        )
        cells[3].metric(
            "Per instance",
            theme.number(capacity.get("value")) if isinstance(capacity, Mapping) else "–",
            help="Requests per second that one instance serves within the objectives, learned from what was served.",
        )
        cells[4].metric("Confidence", theme.percent(row.get("confidence"), 0))
        because = row.get("because")
        for line in because if isinstance(because, list) else []:
            st.write(f"- {line}")
        st.caption(
            f"binding: {text(row, 'binding')} · cold start {theme.seconds(row.get('cold_start_seconds'))} · "
            f"valid until {text(row, 'valid_until')}"
        )


def _difference(row: Mapping[str, object]) -> int | None:
    current, proposed = row.get("current"), row.get("proposed")
    return int(proposed) - int(current) if isinstance(current, int) and isinstance(proposed, int) else None


def _forecast(ask: Client, model: str, tenant: str | None) -> None:
    st.subheader(f"Forecast of {model}", help="Median, 80 % band and the 99th percentile; dashed: it has not happened.")
    left, right = st.columns(2)
    signal = left.selectbox("Signal", list(SIGNALS), format_func=lambda name: SIGNALS[name]) or "requests"
    horizon = right.selectbox("Horizon", HORIZONS, index=2) or "24h"
    try:
        answer = ask.forecast(model, signal, horizon, tenant)
    except SloscopeError as error:
        st.info(f"No forecast: {error}")
        return
    st.altair_chart(charts.forecast(rows(answer, "points"), f"{SIGNALS[signal]} per second"))
    st.caption(f"basis: {text(answer, 'basis')} · confidence {theme.percent(answer.get('confidence'), 0)}")


with framed("Scaling", "How many instances will be needed when a new one would be ready, and why?"):
    show(client())
