"""Makes forecasts of parts and of their whole agree: parts sum to the whole; never moves both by guesswork."""

from __future__ import annotations

import numpy as np

from analytics.forecast.history import FloatArray


def coherent(
    whole: FloatArray, parts: FloatArray, whole_width: FloatArray, parts_width: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return (whole, parts) that agree, nearest to what was forecast, the less certain moving more.

    `whole` and its width are (steps,), `parts` and theirs (parts, steps); a width is any measure of spread, such as
    q90 - q10. This is minimum-trace reconciliation with a diagonal error covariance (Wickramasuriya, Athanasopoulos,
    Hyndman, 2019, doi:10.1080/01621459.2018.1448825), followed by a cut at zero whose surplus the positive parts carry.
    """
    variance = np.square(np.maximum(parts_width, 1e-12))
    total = variance.sum(axis=0)
    gap = whole - parts.sum(axis=0)
    share = variance / (total + np.square(whole_width))
    moved = np.maximum(parts + share * gap, 0.0)
    agreed = np.maximum(whole - np.square(whole_width) / (total + np.square(whole_width)) * gap, 0.0)
    sums = moved.sum(axis=0)
    scale = np.divide(agreed, sums, out=np.ones_like(sums), where=sums > 0)
    parts_agreed = moved * scale
    return parts_agreed.sum(axis=0), parts_agreed


def moved_bands(bands: FloatArray, before: FloatArray, after: FloatArray) -> FloatArray:
    """Return quantile paths (steps, quantiles) carried along when their median moved from `before` to `after`."""
    ratio = np.divide(after, before, out=np.ones_like(after), where=before > 0)
    moved: FloatArray = np.where(before[:, None] > 0, bands * ratio[:, None], np.maximum(bands, after[:, None]))
    return moved
