"""Which instances are seen, and how fresh is what they say? Blind is not idle."""

from __future__ import annotations

import streamlit as st

from dashboard.client import Client, client
from dashboard.frame import framed, rows, say_if_empty


def show(ask: Client) -> None:
    """Draw the page."""
    found = ask.inventory()
    if say_if_empty(found):
        return
    instances = rows(found, "instances")
    if not instances:
        st.info("No instance was sampled in the last day.")
    else:
        st.dataframe(instances, hide_index=True, width="stretch")
    quality = rows(found, "quality")
    st.subheader("Data quality", help="What came in and could not be used, or only in part.")
    if quality:
        st.dataframe(quality, hide_index=True, width="stretch")
    else:
        st.success("Everything that came in was usable.")


with framed("Instances", "Who is seen, how fresh, and what was wrong with what came in?"):
    show(client())
