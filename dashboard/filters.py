"""What every page can be narrowed to; kept in the URL, so that a link reproduces a view."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from dashboard.client import Client

WINDOWS = ("5m", "15m", "1h", "6h", "1d", "7d", "28d")
ANY = "all"


@dataclass(frozen=True, slots=True)
class Filters:
    """The chosen scope; None means all."""

    model: str | None
    tenant: str | None
    window: str

    def query(self) -> dict[str, str]:
        """Return the scope as query parameters."""
        given = {"model": self.model, "tenant": self.tenant, "window": self.window}
        return {name: value for name, value in given.items() if value}


def choose(client: Client, *, need_model: bool = False) -> Filters:
    """Show the filters in the side bar and return the choice."""
    found = client.inventory()
    models, tenants = _names(found.get("models")), _names(found.get("tenants"))
    with st.sidebar:
        model = _select("Model", "model", models if need_model else [ANY, *models])
        tenant = _select("Tenant", "tenant", [ANY, *tenants])
        window = _select("Window", "window", list(WINDOWS), "15m")
    return Filters(_chosen(model), _chosen(tenant), window or "15m")


def _select(label: str, name: str, options: list[str], default: str | None = None) -> str | None:
    if not options:
        return None
    asked = st.query_params.get(name, default)
    index = options.index(asked) if asked in options else 0
    chosen = st.selectbox(label, options, index=index, key=f"filter-{name}")
    if chosen == ANY:
        st.query_params.pop(name, None)
    elif chosen is not None:
        st.query_params[name] = chosen
    return chosen


def _chosen(value: str | None) -> str | None:
    return None if value in {None, ANY} else value


def _names(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
