"""Coefficients that the direct ridge starts from: what the tuning series have in common; never fitted at run time.

Measured by `python -m benchmarks.forecasting.learn_prior` on the tuning half of the series, each series with equal
weight. One row a lead; in between, and for features, see `direct_ridge.design`.
"""

from __future__ import annotations

import numpy as np

from analytics.forecast.history import FloatArray, IntArray

#: Days are the profile's difference to 1, 2 and 7 days ago; strayed_* the recent deviation from the profile.
FEATURES = (
    "day_1", "day_2", "day_7", "strayed_step", "strayed_30m", "strayed_1h", "strayed_3h", "strayed_8h", "strayed_24h",
    "flat_24h", "flat_7d", "flat_1h", "strayed_yesterday",
)  # fmt: skip
#: Lead in seconds to coefficients in the order of `FEATURES`.
TABLE: dict[int, tuple[float, ...]] = {
    600: (0.13, -0.05, 0.01, 0.48, 0.19, -0.11, -0.09, 0.23, 0.07, 0.04, -0.04, 0.12, -0.13),
    1800: (0.13, -0.05, 0.01, 0.31, 0.19, 0.0, -0.12, 0.21, 0.07, 0.07, -0.05, 0.2, -0.15),
    3600: (0.17, -0.07, 0.0, 0.27, 0.23, -0.12, -0.04, 0.19, 0.13, 0.09, -0.06, 0.15, -0.2),
    10800: (0.26, -0.11, 0.0, 0.14, 0.0, -0.02, 0.2, 0.03, 0.29, 0.08, -0.03, 0.08, -0.31),
    28800: (0.35, -0.15, -0.02, 0.12, -0.01, -0.01, 0.02, 0.0, 0.51, 0.05, 0.05, 0.0, -0.41),
    57600: (0.44, -0.16, -0.02, 0.06, 0.02, 0.0, -0.01, 0.15, 0.47, -0.07, 0.16, -0.01, -0.48),
    86400: (0.31, -0.15, -0.02, 0.03, -0.13, -0.08, 0.01, 0.18, 0.33, -0.11, 0.18, 0.14, -0.22),
}


def prior_at(lead_seconds: IntArray) -> FloatArray:
    """Return the prior (leads, features), interpolated over the logarithm of the lead."""
    known = np.log(np.array(list(TABLE), dtype=np.float64))
    rows = np.array(list(TABLE.values()))
    wanted = np.log(np.maximum(lead_seconds, 1))
    return np.stack([np.interp(wanted, known, rows[:, place]) for place in range(rows.shape[1])], axis=1)
