"""The cold start is measured from lives; where there are none the assumption is named."""

from __future__ import annotations

import numpy as np

from analytics.scaling import cold_start


def test_a_few_lives_give_their_worst_as_p95() -> None:
    found = cold_start(np.array([60.0, 90.0, np.nan, 75.0]))
    assert (found.p50, found.p95, found.lives) == (75.0, 90.0, 3)


def test_many_lives_give_the_quantile() -> None:
    assert cold_start(np.arange(1.0, 101.0)).p95 < 97.0


def test_without_lives_the_default_is_named() -> None:
    found = cold_start(np.empty(0))
    assert (found.p95, found.origin, found.lives) == (180.0, "assumed", 0)


def test_phases_keep_the_order_of_a_start_up() -> None:
    found = cold_start(np.array([100.0]), {"load": 60.0, "pull": 30.0, "other": 1.0})
    assert found.phases == (("pull", 30.0), ("load", 60.0))
