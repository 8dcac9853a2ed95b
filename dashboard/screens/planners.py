"""Plan a system: assumed beside measured, with sliders and a picture."""

from __future__ import annotations

import streamlit as st

from dashboard.client import client
from dashboard.frame import framed
from dashboard.planners import PLANNERS, planner_page

with framed("Planners", "What does each kind of serving system need, and which assumption does reality break?"):
    names = list(PLANNERS)
    asked = st.query_params.get("planner", names[0])
    chosen = st.sidebar.radio(
        "Planner", names, index=names.index(asked) if asked in names else 0, format_func=lambda name: PLANNERS[name]
    )
    if chosen is not None:
        st.query_params["planner"] = chosen
        planner_page(chosen, client())
