"""Writes forecast paths as rows of an answer: times as RFC 3339, unknown as None; computes nothing."""

from __future__ import annotations

import math
from datetime import UTC, datetime

from analytics.forecast.forecaster import QUANTILES
from analytics.forecast.history import FloatArray


def points(path: FloatArray, first_second: int, step_seconds: int) -> list[dict[str, object]]:
    """Return quantile paths (steps, quantiles) as rows, the first step starting at `first_second`."""
    names = [f"q{round(100 * quantile)}" for quantile in QUANTILES]
    rows: list[dict[str, object]] = []
    for place, row in enumerate(path):
        values = {name: plain(float(value)) for name, value in zip(names, row, strict=True)}
        rows.append({"ts": rfc3339(first_second + place * step_seconds), **values})
    return rows


def plain(value: float) -> float | None:
    """Return a number that JSON has, None for the others."""
    return value if math.isfinite(value) else None


def rfc3339(second: float) -> str:
    """Return seconds since 1970 as a time in UTC."""
    return datetime.fromtimestamp(second, UTC).isoformat().replace("+00:00", "Z")
