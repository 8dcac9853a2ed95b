"""The fluid model and the judge: what is good, what is billed, what is a flap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from analytics.replay.fluid import Fault, run
from analytics.replay.outcome import changes, judge, tail
from analytics.scaling.policies import Observation, Setting
from analytics.scaling.policies.recommender import Recommender

SETTING = Setting(cold_start_seconds=60.0, capacity=10.0, in_flight=20.0, seats=64.0, largest=50)


@dataclass
class Script:
    """Asks for what a list says, tick by tick."""

    wants: list[int]
    interval_seconds: float = 15.0
    at: int = 0

    def desired(self, seen: Observation) -> int:
        self.at += 1
        return self.wants[min(self.at - 1, len(self.wants) - 1)]


def test_within_capacity_everything_is_good() -> None:
    outcome = judge("x", run(np.full(40, 19.0), Script([2]), SETTING, 2))
    assert (outcome.good_ratio, outcome.bad_minutes, outcome.flaps) == (1.0, 0, 0)
    assert outcome.gpu_hours == pytest.approx(2 * 600 / 3600)


def test_beyond_capacity_the_wait_grows_until_requests_are_bad() -> None:
    done = run(np.full(8, 15.0), Script([1]), SETTING, 1)
    # 5 req/s too many: after 4 s the wait is 2 s, so 4 of the first 15 seconds are good
    assert done.good[0] == pytest.approx(4 / 15 * 225)
    assert done.good[1] == 0.0
    assert done.queue[1] == pytest.approx(150.0)


def test_an_asked_instance_is_billed_at_once_and_serves_later() -> None:
    done = run(np.full(10, 5.0), Script([3]), SETTING, 1)
    assert done.billed[1] == 3
    assert done.ready.tolist()[:6] == [1, 1, 1, 1, 1, 3]


def test_a_flap_is_a_reversal_within_half_an_hour() -> None:
    assert changes(np.array([1, 2, 2, 1, 1]), 60.0) == (1, 2)
    assert changes(np.array([1, *[2] * 40, 1]), 60.0) == (0, 2)
    assert changes(np.array([1, 2, 3]), 60.0) == (0, 2)


def test_a_tail_keeps_the_end() -> None:
    done = run(np.full(10, 5.0), Script([1]), SETTING, 1)
    assert len(tail(done, 6).asked) == 4


@pytest.mark.parametrize("kind", ["gap", "nan", "relabel", "stale_pod", "restart"])
def test_the_recommender_shrinks_nothing_while_blind(kind: str) -> None:
    demand = np.concatenate([np.full(400, 95.0), np.full(400, 30.0)])
    fault = Fault(kind, 6000.0, 9000.0)
    again = Recommender(SETTING, 1.0) if kind == "restart" else None
    asked = run(demand, Recommender(SETTING, 1.0), SETTING, 12, (fault,), again).asked
    assert (np.diff(asked[401:599]) >= 0).all()
    assert asked[-1] < asked[500]


def test_instances_that_never_become_ready_start_no_cascade() -> None:
    demand = np.concatenate([np.full(200, 50.0), np.full(200, 120.0)])
    asked = run(demand, Recommender(SETTING, 1.0), SETTING, 7, (Fault("pending", 3000.0, 6000.0),)).asked
    # one step of four times what serves; after it nothing grows, however long the queue does
    assert asked.max() <= 24
    assert (np.diff(asked[240:]) <= 0).all()
