"""Fixed colours for fixed meanings, and words for numbers; every page uses these and no others."""

from __future__ import annotations

P50, P99 = "#7fb3d5", "#1f618d"
SLO_LINE = "#c0392b"
QUEUE, PREFILL, DECODE, GATEWAY, TRANSFER, OTHER = "#e67e22", "#8e44ad", "#2471a3", "#16a085", "#b7950b", "#95a5a6"
GOOD, BAD = "#27ae60", "#c0392b"
FORECAST = "#34495e"
CHANGE = "#7f8c8d"
STAGE_COLOURS = {
    "gateway": GATEWAY,
    "queue": QUEUE,
    "prefill": PREFILL,
    "transfer": TRANSFER,
    "decode": DECODE,
    "other": OTHER,
}
#: What a state of an objective is called: short words, which every machine has glyphs for.
STATES = {
    "ok": "ok",
    "burning": "burning",
    "exhausted": "spent",
    "no_traffic": "no traffic",
    "no_data": "no data",
}
#: The same for scaling actions.
ACTIONS = {
    "up": "scale up",
    "down": "scale down",
    "hold": "hold",
    "hold_blind": "hold: blind",
    "pinned": "pinned",
}


def seconds(value: object) -> str:
    """Return seconds for people: 12 ms, 1.24 s, 3 min.

    >>> seconds(0.0123), seconds(75.48), seconds(None)
    ('12 ms', '75.5 s', '–')
    """
    if not isinstance(value, int | float):
        return "–"
    if value < 1:
        return f"{value * 1000:.0f} ms"
    if value < 120:
        return f"{value:.3g} s"
    return f"{value / 60:.0f} min"


def interval(value: object) -> str:
    """Return an interval of seconds for people; an edge that is not known leaves a bound.

    >>> interval([17.5, None]), interval([1.2, 1.3]), interval(None)
    ('> 17.5 s', '1.2 s – 1.3 s', '–')
    """
    low, high = value if isinstance(value, list | tuple) and len(value) == 2 else (None, None)
    if isinstance(low, int | float) and isinstance(high, int | float):
        return f"{seconds(low)} – {seconds(high)}"
    if isinstance(low, int | float):
        return f"> {seconds(low)}"
    return f"< {seconds(high)}" if isinstance(high, int | float) else "–"


def clock(value: object) -> str:
    """Return the time of an RFC 3339 moment for people; the day stands in the charts.

    >>> clock("2026-05-01T12:34:56.789Z")
    '12:34:56 UTC'
    """
    return f"{value[11:19]} UTC" if isinstance(value, str) and len(value) >= 19 else "–"


def percent(value: object, digits: int = 2) -> str:
    """Return a ratio as per cent; a dash for missing."""
    return f"{value * 100:.{digits}f} %" if isinstance(value, int | float) else "–"


def number(value: object, digits: int = 3) -> str:
    """Return a number with so many significant digits; a dash for missing."""
    return f"{value:,.{digits}g}" if isinstance(value, int | float) and not isinstance(value, bool) else "–"


def whole(value: object) -> str:
    """Return a count; a dash for missing."""
    return f"{value:,.0f}" if isinstance(value, int | float) else "–"
