"""Reads durations as OpenSLO writes them; knows no calendar."""

from __future__ import annotations

import re

_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400}
_FORM = re.compile(r"([0-9]{1,6})([smhdw])")


def duration_seconds(text: str) -> int | None:
    """Return seconds of `28d`, `4w`, `1h`, `5m` or `30s`; None for anything else (months are no duration).

    >>> duration_seconds("4w") == duration_seconds("28d"), duration_seconds("1M")
    (True, None)
    """
    found = _FORM.fullmatch(text.strip())
    return int(found[1]) * _UNITS[found[2]] if found else None
