"""What happened to one request? Its timeline, its instance at that time, its peers."""

from __future__ import annotations

import streamlit as st

from dashboard import charts, theme
from dashboard.client import Client, client
from dashboard.frame import framed, rows, say_if_empty, text


def show(ask: Client) -> None:
    """Draw the page."""
    if say_if_empty(ask.inventory()):
        return
    asked = st.text_input("Request id or trace id", st.query_params.get("id", ""))
    if not asked.strip():
        st.caption("Find ids with the SQL page, for example its slowest requests.")
        return
    st.query_params["id"] = asked.strip()
    answer = ask.request(asked.strip())
    row = answer.get("request")
    if isinstance(row, dict):
        cells = st.columns(5)
        cells[0].metric("Status", text(row, "status"))
        cells[1].metric("Time to first token", theme.seconds(row.get("ttft_seconds")))
        cells[2].metric("Whole request", theme.seconds(row.get("e2e_seconds")))
        cells[3].metric("Input tokens", theme.whole(row.get("input_tokens")))
        cells[4].metric("Output tokens", theme.whole(row.get("output_tokens")))
    steps = rows(answer, "timeline")
    if steps:
        st.altair_chart(charts.timeline_of(steps))
    st.subheader("Its instance then")
    st.dataframe(rows(answer, "instance"), hide_index=True, width="stretch")
    peers = answer.get("peers")
    if isinstance(peers, dict):
        st.subheader("Other requests in the same minute")
        st.dataframe([peers], hide_index=True, width="stretch")
    if isinstance(row, dict):
        with st.expander("Everything that is known"):
            st.json(row)


with framed("Request", "Where did one request spend its time?"):
    show(client())
