"""What all pages share: the title, the error shown as a sentence, cells of answers read safely."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import streamlit as st

from signals.errors import PermissionDeniedError, SloscopeError, UnreachableError


@contextmanager
def framed(title: str, sentence: str) -> Iterator[None]:
    """Show a page's title; an error becomes a sentence with what to do, never a traceback."""
    st.title(title)
    st.caption(sentence)
    try:
        yield
    except UnreachableError as error:
        st.error(f"No collector answers: {error}")
        st.caption("Start one with `sloscope serve`, or see everything with `sloscope demo`.")
    except PermissionDeniedError as error:
        st.error(f"The collector refuses: {error}")
        st.caption("Give the dashboard a token with `sloscope dashboard --token-file FILE`.")
    except SloscopeError as error:
        st.error(str(error))


def say_if_empty(inventory: Mapping[str, object]) -> bool:
    """Say that nothing was stored yet, when it is so; return whether."""
    if inventory.get("newest") is not None:
        return False
    st.info("No data yet: no engine was sampled and no request was received. Point an agent here and look again.")
    return True


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
