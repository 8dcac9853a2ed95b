"""The dashboard's entry: navigation only."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

PAGES = Path(__file__).parent / "screens"
#: A file of our own: an emoji or a symbol's name would be fetched from the internet.
ICON = Path(__file__).parent / "icon.png"

st.set_page_config(page_title="sloscope", page_icon=str(ICON), layout="wide")


def page(name: str, title: str, icon: str, *, default: bool = False) -> st.Page:
    """Return one page of the navigation."""
    return st.Page(str(PAGES / f"{name}.py"), title=title, icon=icon, url_path=name, default=default)


st.navigation(
    {
        "Answers": [
            page("overview", "Overview", ":material/monitor_heart:", default=True),
            page("explain", "Explain", ":material/troubleshoot:"),
            page("scaling", "Scaling", ":material/stacked_line_chart:"),
        ],
        "Plan": [page("planners", "Planners", ":material/architecture:")],
        "Data": [
            page("request", "Request", ":material/receipt_long:"),
            page("instances", "Instances", ":material/dns:"),
            page("sql", "SQL", ":material/database:"),
        ],
    }
).run()
