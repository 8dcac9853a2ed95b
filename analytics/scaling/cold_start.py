"""Measures the cold start from instance lives and start-up phases; where nothing was seen it says what it assumes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from analytics.scaling.state import ColdStart
from signals.startup import PHASES

#: Assumed where no life was seen: weights at 1 GB/s from an object store for a 70B model (140 s) plus process start
#: and graph capture (40 s). llm-d measures 100-110 s, its documentation speaks of 2-7 minutes.
ASSUMED_SECONDS = 180.0


def cold_start(
    seconds: npt.NDArray[np.float64], phases: Mapping[str, float] | None = None, assumed: float = ASSUMED_SECONDS
) -> ColdStart:
    """Return P50 and P95 of the lives' start-up seconds (NaN and negative ones ignored), and the phases seen.

    With fewer than 20 lives P95 is the largest of them: a small sample says nothing about its tail.
    """
    seen = seconds[np.isfinite(seconds) & (seconds >= 0)]
    shown = tuple((name, (phases or {})[name]) for name in PHASES if name in (phases or {}))
    if len(seen) == 0:
        return ColdStart(assumed, assumed, 0, "assumed", shown)
    p95 = float(np.quantile(seen, 0.95)) if len(seen) >= 20 else float(seen.max())
    return ColdStart(float(np.median(seen)), p95, len(seen), f"measured on {len(seen)} start-ups", shown)
