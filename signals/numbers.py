"""Reads finite numbers out of named fields, whether they came as numbers or as text; knows no format."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite


def number(fields: Mapping[str, object], *names: str) -> float | None:
    """Return the first of `names` that holds a finite number, also when it came as text.

    >>> number({"a": "nan", "b": "2.5"}, "a", "b")
    2.5
    """
    for name in names:
        value = fields.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            continue
        try:
            found = float(value)
        except ValueError:
            continue
        if isfinite(found):
            return found
    return None


def whole(fields: Mapping[str, object], *names: str) -> int | None:
    """Return the first number of `names`, cut to a whole one; None below 0."""
    found = number(fields, *names)
    return None if found is None or found < 0 else int(found)
