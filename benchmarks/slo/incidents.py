"""Makes per-minute counts of good and bad requests with a daily curve, quiet nights and incidents; seeded."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

DAY_MINUTES = 1_440


def minutes_with_incidents(
    days: int, *, seed: int = 5, peak_per_minute: float = 120.0, allowed: float = 0.01
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return (good, bad) per minute. Incidents last minutes to days at 2 to 100 times the allowed bad share."""
    rng = np.random.default_rng(seed)
    count = days * DAY_MINUTES
    hours = np.arange(count) / 60
    daily = 0.02 + 0.98 * np.clip(np.sin((hours % 24 - 6) / 24 * 2 * np.pi), 0, None) ** 1.5
    total = rng.poisson(peak_per_minute * daily)
    share = np.full(count, allowed * 0.3)
    for _ in range(days):
        opens = int(rng.integers(0, count))
        lasts = int(np.exp(rng.uniform(np.log(3), np.log(2_000))))
        share[opens : opens + lasts] = allowed * np.exp(rng.uniform(np.log(2), np.log(100)))
    total[count // 3 : count // 3 + 90] = 0
    bad = rng.binomial(total, np.clip(share, 0, 1))
    return total - bad, bad
