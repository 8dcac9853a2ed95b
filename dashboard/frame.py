"""What all pages share: the title, the error shown as a sentence, cells of answers read safely."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import streamlit as st

from signals.errors import SloscopeError


@contextmanager
def framed(title: str, sentence: str) -> Iterator[None]:
    """Show a page's title; an error becomes a sentence with what to do, never a traceback."""
    st.title(title)
    st.caption(sentence)
    try:
        yield
    except SloscopeError as error:
        st.error(str(error))
        st.caption("Start one with `sloscope serve`, or see everything with `sloscope demo`.")


def rows(answer: Mapping[str, object], name: str) -> list[dict[str, object]]:
    """Return a list of objects inside an answer."""
    found = answer.get(name)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def text(row: Mapping[str, object], name: str, missing: str = "–") -> str:
    """Return a cell as text."""
    value = row.get(name)
    return missing if value is None else str(value)


def scope_of(row: Mapping[str, object]) -> str:
    """Return what an objective or a pool speaks of, in one line."""
    parts = [row.get(name) for name in ("model", "tenant", "length_bucket", "model_version", "region", "adapter")]
    return " · ".join(str(part) for part in parts if part) or "everything"
