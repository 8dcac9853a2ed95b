"""Causes are told by how likely they are: none below the first is likelier than it, and all together stay below one."""

from __future__ import annotations

import pytest

from analytics.rootcause.diagnosis import _confidence

SCORES = {"preemption": 0.6, "slow_prefill": 0.55, "long_requests": 0.2}


@pytest.mark.parametrize("sure", [0.0, 0.09, 0.5, 0.98])
def test_no_later_cause_is_likelier_than_an_earlier_one(sure: float) -> None:
    told = [_confidence(sure, SCORES, list(SCORES), place) for place in range(len(SCORES))]
    assert told[0] == sure
    assert told == sorted(told, reverse=True)
    assert sum(told) <= 1.0 or sure == 0.0
