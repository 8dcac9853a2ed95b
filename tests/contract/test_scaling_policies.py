"""Every scaling policy keeps the same promises, and each follows its description on a series computed by hand."""

from __future__ import annotations

from dataclasses import replace
from math import nan

import numpy as np
import pytest

from analytics.replay.fluid import Fault, run
from analytics.replay.outcome import judge
from analytics.scaling.policies import POLICIES, Observation, Setting, get
from analytics.scaling.policies.dynamo import Kalman
from analytics.scaling.policies.form import RollingMax, RollingMean
from signals.errors import UnknownNameError

SETTING = Setting(
    cold_start_seconds=60.0,
    capacity=10.0,
    in_flight=20.0,
    seats=64.0,
    largest=50,
    input_tokens=1000.0,
    output_tokens=200.0,
    kv_tokens=40_000.0,
    history=np.full(2880, 80.0),
    history_step_seconds=60.0,
)


def seen(seconds: float = 0.0, **changes: object) -> Observation:
    """Return ten instances at four fifths of their knee, with some figures changed."""
    usual = Observation(
        seconds, 10, 10, 0, 80.0, 80.0, 0.0, 160.0, 0.44, 0.8, 0.3, 0.02, 1200.0, 1200.0, 10
    )  # fmt: skip
    return replace(usual, **changes)  # type: ignore[arg-type]  # tests name real fields


@pytest.fixture(params=sorted(POLICIES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_answers_stay_within_the_bounds(name: str) -> None:
    entry = get(name)
    for target in entry.grid:
        policy = entry.make(SETTING, target)
        for k in range(200):
            load = 10.0 ** (k % 8)
            looked = seen(k * 15.0, arrival_rate=load, queue=load, running=load, finish_rate=load)
            assert SETTING.smallest <= policy.desired(looked) <= SETTING.largest


def test_more_load_never_ends_with_fewer_instances(name: str) -> None:
    target = get(name).grid[len(get(name).grid) // 2]
    ends = []
    for rate in (20.0, 150.0):
        demand = np.full(960, rate)
        past = replace(SETTING, history=np.full(2880, rate))
        ends.append(run(demand, get(name).make(past, target), past, 10).asked[-100:].mean())
    assert ends[0] <= ends[1]


def test_a_gap_of_pages_shrinks_nothing(name: str) -> None:
    if name in ("yesterday", "static-peak"):
        pytest.skip("plans that look at no load")
    entry = get(name)
    demand = np.full(400, 80.0)
    gap = Fault("gap", 3000.0, 3300.0)
    asked = run(demand, entry.make(SETTING, entry.grid[-1]), SETTING, 12, (gap,)).asked
    during = asked[201:220]
    assert (np.diff(during) >= 0).all()


def test_two_makes_of_one_policy_share_nothing(name: str) -> None:
    entry = get(name)
    first, second = (entry.make(SETTING, entry.grid[0]) for _ in range(2))
    for k in range(50):
        first.desired(seen(k * 15.0, queue=500.0))
    fresh = entry.make(SETTING, entry.grid[0])
    assert second.desired(seen()) == fresh.desired(seen())


def test_an_unknown_policy_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="keda-in-flight"):
        get("keda-inflight")


def test_hpa_ignores_ten_percent_and_rounds_up_beyond() -> None:
    hpa = get("hpa-queue").make(SETTING, 5.0)
    assert hpa.desired(seen(0.0, queue=54.0)) == 10  # 54 / 50 = 1.08: within tolerance
    assert hpa.desired(seen(15.0, queue=61.0)) == 13  # ceil(61 / 5)
    assert hpa.desired(seen(30.0, queue=5000.0)) == 20  # at most doubled in one step


def test_hpa_gives_back_the_largest_of_five_minutes() -> None:
    hpa = get("hpa-queue").make(SETTING, 5.0)
    assert hpa.desired(seen(0.0, queue=100.0)) == 20
    assert hpa.desired(seen(285.0, asked=20, queue=0.0)) == 20
    assert hpa.desired(seen(315.0, asked=20, queue=0.0)) == 1


def test_hpa_on_gpu_counts_starting_pods_as_idle_on_the_way_up() -> None:
    hpa = get("hpa-gpu").make(SETTING, 0.5)
    # 0.8 / 0.5 = 1.6 on 10 ready; with 10 starting at 0 it is 0.4 / 0.5 = 0.8: the direction flips, so hold
    assert hpa.desired(seen(0.0, asked=20, starting=10, gpu_busy_ratio=0.8)) == 20
    assert get("hpa-gpu").make(SETTING, 0.5).desired(seen(0.0, gpu_busy_ratio=0.8)) == 16


def test_keda_divides_what_is_in_flight_by_its_target() -> None:
    keda = get("keda-in-flight").make(SETTING, 0.5)  # ten requests per instance
    assert keda.desired(seen(0.0, running=130.0, queue=10.0)) == 14


def test_keda_without_a_metric_leaves_the_fleet() -> None:
    keda = get("keda-in-flight").make(SETTING, 0.5)
    assert keda.desired(seen(0.0, running=nan, queue=nan)) == 10


def test_knative_panics_at_twice_its_capacity_and_holds_for_a_minute() -> None:
    kpa = get("knative").make(SETTING, 0.5)
    assert kpa.desired(seen(0.0, running=100.0)) == 10
    assert kpa.desired(seen(2.0, running=500.0)) == 30  # stable mean 300; the six-second mean is 300 as well
    assert kpa.desired(seen(30.0, running=10.0)) == 30  # still in panic: nothing is taken away
    assert kpa.desired(seen(100.0, running=10.0)) == 5  # at most halved


def test_dynamo_predicts_with_level_and_trend() -> None:
    kalman = Kalman()
    for reading in (100.0, 110.0, 120.0, 130.0, 140.0):
        ahead = kalman.update(reading)
    assert ahead == pytest.approx(150.0, abs=1.0)


def test_dynamo_adds_one_when_its_estimate_misses_and_none_while_starting() -> None:
    planner = get("dynamo").make(SETTING, 1.0)
    assert planner.desired(seen(0.0, queue=400.0)) == 11  # 400 / 100 req/s = 4 s above the objective
    assert planner.desired(seen(5.0, queue=400.0, asked=11, starting=1)) == 11


def test_yesterday_asks_one_cold_start_early() -> None:
    history = np.concatenate([np.full(720, 40.0), np.full(720, 90.0)])
    policy = get("yesterday").make(replace(SETTING, history=history), 1.0)
    assert policy.desired(seen(0.0)) == 4
    assert policy.desired(seen(720 * 60.0 - 60.0)) == 9


def test_static_peak_is_the_peak() -> None:
    policy = get("static-peak").make(replace(SETTING, history=np.array([10.0, 123.0, 50.0])), 1.0)
    assert policy.desired(seen(arrival_rate=1.0)) == 13


def test_ray_serve_waits_thirty_seconds_up_and_ten_minutes_down() -> None:
    ray = get("ray-serve").make(SETTING, 0.5)
    assert [ray.desired(seen(t, running=200.0)) for t in (0.0, 10.0, 20.0, 30.0)] == [10, 10, 10, 20]
    later = [ray.desired(seen(t, asked=20, running=100.0)) for t in (100.0, 690.0, 700.0)]
    assert later == [20, 20, 10]


def test_aibrix_halves_and_doubles_at_most() -> None:
    apa = get("aibrix-apa").make(SETTING, 0.5)  # ten requests per pod
    assert apa.desired(seen(0.0, running=105.0)) == 10  # 10.5 is within ten percent
    assert get("aibrix-apa").make(SETTING, 0.5).desired(seen(0.0, running=900.0)) == 20
    assert get("aibrix-apa").make(SETTING, 0.5).desired(seen(0.0, running=10.0)) == 5


def test_wva_v1_adds_one_when_spare_is_gone_and_waits_for_what_starts() -> None:
    make = get("wva-v1").make
    assert make(SETTING, 1.0).desired(seen(0.0, kv_usage_ratio=0.75)) == 11
    assert make(SETTING, 1.0).desired(seen(0.0, kv_usage_ratio=0.5)) == 9
    assert make(SETTING, 1.0).desired(seen(0.0, kv_usage_ratio=0.75, starting=1, asked=11)) == 11
    assert make(SETTING, 1.0).desired(seen(0.0, kv_usage_ratio=0.75, reporting=9)) == 10


def test_wva_v2_compares_tokens_with_capacity() -> None:
    # one replica holds min(0.8 x 40,000, 20 x 1,100) = 22,000 tokens; 10 x 0.55 x 40,000 = 220,000 are in use
    wva = get("wva-v2").make(SETTING, 1.0)
    assert wva.desired(seen(0.0, kv_usage_ratio=0.55)) == 12  # 220,000 / 0.85 - 220,000 = 38,824 -> 2 more
    assert get("wva-v2").make(SETTING, 1.0).desired(seen(0.0, kv_usage_ratio=0.3)) == 8  # spare 48,571 -> 2 fewer


def test_sageserve_spends_its_credit_only_when_busy() -> None:
    sage = get("sageserve").make(SETTING, 1.0)
    for k in range(60):
        sage.desired(seen(k * 15.0, arrival_rate=120.0))
    # the plan says 12 for 10: busy 1.2 spends one now; the emergency needs no credit
    assert sage.desired(seen(900.0, arrival_rate=120.0)) == 11


def test_phpa_extrapolates_its_own_history() -> None:
    phpa = get("phpa").make(replace(SETTING, cold_start_seconds=60.0), 0.5)
    wants = [phpa.desired(seen(15.0 * k, running=100.0 + 20.0 * k)) for k in range(8)]
    reactive = [10 + 2 * k for k in range(8)]
    assert wants[-1] > reactive[-1]


def test_windows_forget() -> None:
    most, mean = RollingMax(60.0), RollingMean(60.0)
    assert [most.add(t, v) for t, v in ((0.0, 5), (30.0, 3), (61.0, 2))] == [5, 5, 3]
    assert [mean.add(t, v) for t, v in ((0.0, 4.0), (30.0, 8.0), (60.0, nan))] == [4.0, 6.0, 8.0]


def test_the_recommender_holds_the_objective_on_a_daily_swing() -> None:
    demand = 80 + 50 * np.sin(np.arange(2880) / 2880 * 2 * np.pi)
    done = run(demand, get("sloscope").make(SETTING, 1.0), SETTING, 10)
    assert judge("sloscope", done).good_ratio >= 0.99
