"""Why is it slow? Verdict, stage, causes with evidence, what contradicts them, what to do next."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from dashboard import charts, theme
from dashboard.client import Client, client
from dashboard.filters import choose
from dashboard.frame import framed, rows, say_if_empty, text

METRICS = {
    "ttft": "time to first token",
    "tpot": "time per output token",
    "e2e": "whole request",
    "goodput": "goodput",
    "cache_hit": "prefix cache hits",
    "acceptance": "speculative acceptance",
}
VERDICTS = {
    "explained": ("success", "Explained"),
    "inconclusive": ("warning", "Inconclusive: the evidence does not single out a cause"),
    "no_significant_change": ("info", "No significant change in this window"),
}


def show(ask: Client) -> None:
    """Draw the page."""
    filters = choose(ask, need_model=True)
    if say_if_empty(ask.inventory()):
        return
    if filters.model is None:
        st.info("No model was seen: there is nothing to explain.")
        return
    left, middle, right = st.columns([2, 2, 2])
    metric = left.selectbox("Metric", list(METRICS), format_func=lambda name: METRICS[name])
    start = middle.text_input("From (RFC 3339, empty: find the spike)", st.query_params.get("from", ""))
    end = right.text_input("To", st.query_params.get("to", ""))
    given = {name: value.strip() for name, value in (("from", start), ("to", end)) if value.strip()}
    with st.spinner("Looking for the cause …"):
        answer = ask.explain(filters.model, metric or "ttft", given)
    _verdict(answer)
    for cause in rows(answer, "causes"):
        _cause(cause)
    missing = answer.get("missing")
    if isinstance(missing, list) and missing:
        st.caption("To be surer, collect: " + "; ".join(str(item) for item in missing))
    found = ask.timeline(filters.query())
    points, engine = rows(found, "points"), rows(found, "engine")
    if points:
        st.subheader("Time to first token", help="The window chosen in the side bar.")
        st.altair_chart(charts.latency(points, "ttft", None, rows(found, "changes")))
    if engine:
        st.subheader("Requests waiting and running")
        st.altair_chart(
            charts.lines(
                engine, {"queue_depth": "waiting", "running": "running"}, [theme.QUEUE, theme.DECODE], "requests"
            )
        )


def _verdict(answer: Mapping[str, object]) -> None:
    kind, sentence = VERDICTS.get(text(answer, "verdict"), ("info", text(answer, "verdict")))
    {"success": st.success, "warning": st.warning, "info": st.info}[kind](sentence)
    if answer.get("because"):
        st.caption(text(answer, "because"))
    cells = st.columns(3)
    cells[0].metric("Stage", text(answer, "stage"), help="Where the added time is spent.")
    cells[1].metric(
        "What changed", text(answer, "change_kind"), help="traffic: other requests came; serving: the same got slower."
    )
    cells[2].metric("Since", theme.clock(answer.get("onset")), help=text(answer, "onset"))


def _cause(cause: Mapping[str, object]) -> None:
    confidence = cause.get("confidence")
    title = f"{text(cause, 'cause').replace('_', ' ')} — confidence {theme.percent(confidence, 0)}"
    with st.expander(title, expanded=isinstance(confidence, float) and confidence >= 0.5):
        segment = cause.get("segment")
        if isinstance(segment, Mapping) and segment:
            st.write("Where: " + ", ".join(f"**{name}** {value}" for name, value in segment.items()))
        evidence = [
            {name: _cell(item.get(name)) for name in ("signal", "before", "during", "why")}
            for item in rows(cause, "evidence")
        ]
        if evidence:
            st.dataframe(evidence, hide_index=True, width="stretch")
        contra = cause.get("contra")
        if isinstance(contra, list) and contra:
            st.write("Against it: " + "; ".join(_cell(item) for item in contra))
        change = cause.get("related_change")
        if isinstance(change, Mapping):
            st.write(f"Change nearby: {text(change, 'ts')} {text(change, 'summary')}")
        st.write(f"Next: {text(cause, 'next_step')}")


def _cell(value: object) -> str:
    if isinstance(value, float):
        return theme.number(value, 4)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_cell(item)}" for name, item in value.items())
    return "–" if value is None else str(value)


with framed("Explain", "Why did latency rise, where, and what is the next step?"):
    show(client())
