"""What the recommender decides, and why; each of the pains that users of other autoscalers report is a test here."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from math import nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.scaling import Capacity, Demand, Event, Memory, Pin, Pool, Sight, decide, decide_all
from tests.unit.analytics.scaling.states import NOW, POOL, demand, healthy, watched


def test_a_pool_that_fits_its_demand_holds() -> None:
    decision = decide(healthy(rate=98.0), NOW)
    assert (decision.action, decision.proposed, decision.binding) == ("hold", 10, "forecast")


def test_demand_at_the_cold_start_decides_not_demand_now() -> None:
    decision = decide(healthy(demand=Demand(80.0, 120.0, 130.0, 140.0, 150.0, 130.0)), NOW)
    assert decision.action == "up"
    assert decision.proposed == 15  # P99.2 of 120 to 150 req/s
    assert decision.forecast_horizon_seconds == decision.cold_start_seconds == 180.0


def test_a_spent_error_budget_buys_headroom_and_a_full_one_saves_it() -> None:
    outlook = Demand(80.0, 80.0, 100.0, 120.0, 140.0, 80.0)
    rich = decide(healthy(demand=outlook, budget_remaining=1.0), NOW)
    poor = decide(healthy(demand=outlook, budget_remaining=-1.0), NOW)
    assert rich.need < poor.need


def test_blind_holds_what_is_there_and_says_why() -> None:
    state = healthy(rate=1.0, sight=Sight(NOW - timedelta(minutes=5), 10, 0, failed=10))
    decision = decide(state, NOW)
    assert (decision.action, decision.proposed, decision.binding) == ("hold_blind", 10, "stale_data")
    assert "300 s old" in decision.because[0]
    assert decision.confidence == 0.0


def test_no_data_is_not_zero_demand() -> None:
    """kedacore/keda 3065: an unreachable source sent fleets to their minimum at peak."""
    decision = decide(healthy(demand=Demand()), NOW)
    assert (decision.action, decision.proposed) == ("hold_blind", 10)


def test_no_traffic_is_not_no_data() -> None:
    """ai-dynamo/dynamo 6985: traffic of zero became NaN and seven replicas stayed for ever."""
    decision = decide(healthy(rate=0.0, memory=watched(1)), NOW)
    assert decision.action == "down"


def test_frozen_pages_may_grow_but_not_shrink() -> None:
    sight = Sight(NOW, 10, 10, frozen=1)
    assert decide(healthy(rate=10.0, sight=sight, memory=watched(1)), NOW).action == "hold"
    assert decide(healthy(rate=150.0, sight=sight), NOW).action == "up"


def test_too_few_pages_may_grow_but_not_shrink() -> None:
    """llm-d 1213: pods with another label were skipped, the rest looked idle."""
    sight = Sight(NOW, 10, 6)
    held = decide(healthy(rate=10.0, sight=sight, memory=watched(1)), NOW)
    assert held.action == "hold"
    assert any("6 of 10" in reason for reason in held.because)


def test_after_a_gap_the_need_is_watched_anew_before_anything_goes() -> None:
    blind = decide(healthy(rate=10.0, demand=Demand(), memory=watched(1)), NOW)
    later = NOW + timedelta(seconds=30)
    seen = decide(healthy(rate=10.0, memory=blind.memory, sight=Sight(later, 10, 10)), later)
    assert seen.action == "hold"


def test_instances_that_start_are_supply_and_asked_for_once() -> None:
    """vllm-project/aibrix 2670: 2, 4, 8, 16 while the first ones were still loading."""
    state = healthy(rate=150.0, instances=15, ready=10, starting=5)
    assert decide(state, NOW).proposed == 15


def test_one_step_goes_to_four_times_what_serves_at_most() -> None:
    decision = decide(healthy(rate=1000.0), NOW)
    assert decision.proposed == 40
    assert any("one step" in reason for reason in decision.because)


def test_a_repeated_decision_does_not_cascade_while_nothing_becomes_ready() -> None:
    state = healthy(rate=1000.0)
    for _ in range(20):
        decision = decide(state, NOW)
        state = replace(
            state, current=decision.proposed, starting=decision.proposed - state.ready, memory=decision.memory
        )
    assert state.current <= 40


def test_a_backlog_alone_never_multiplies_a_fleet() -> None:
    """However long a queue grows while nothing becomes ready, the demand bounds what is asked for."""
    state = healthy(rate=80.0)
    for waiting in (1e3, 1e4, 1e5, 1e6):
        decision = decide(replace(state, load=replace(state.load, queue=waiting)), NOW)
        state = replace(
            state, current=decision.proposed, starting=decision.proposed - state.ready, memory=decision.memory
        )
    assert state.current == 15  # 1.85 x 80 req/s at 10 req/s each


def test_a_backlog_that_is_worked_off_is_not_remembered() -> None:
    state = healthy(rate=95.0)
    waiting = decide(replace(state, load=replace(state.load, queue=800.0)), NOW)
    assert (waiting.need, waiting.lasting_need) == (18, 10)
    assert waiting.memory.needs[-1][1] == 10


def test_what_still_starts_for_a_backlog_that_is_over_is_given_back() -> None:
    state = healthy(rate=50.0, instances=24, ready=20, starting=4, memory=watched(5))
    decision = decide(state, NOW)
    assert (decision.action, decision.proposed) == ("down", 21)


def test_what_was_changed_by_hand_is_the_new_ground() -> None:
    """ai-dynamo/dynamo 4420: replicas edited by hand were believed to be as planned."""
    decision = decide(healthy(rate=40.0, instances=30, memory=watched(4)), NOW)
    assert decision.current == 30
    assert decision.action == "down"


def test_scale_down_is_slow() -> None:
    decision = decide(healthy(rate=10.0, instances=20, memory=watched(1)), NOW)
    assert decision.action == "down"
    assert decision.proposed == 17


def test_scale_down_waits_for_calm() -> None:
    fresh = healthy(rate=10.0, memory=Memory(((NOW, 1),), NOW - timedelta(seconds=60)))
    assert decide(fresh, NOW).action == "hold"


def test_a_need_of_the_calm_window_is_remembered() -> None:
    memory = Memory(((NOW - timedelta(seconds=170), 10),), NOW - timedelta(hours=1))
    assert decide(healthy(rate=20.0, memory=memory), NOW).action == "hold"


def test_after_an_up_nothing_goes_for_a_while() -> None:
    memory = replace(watched(8), changed_at=NOW - timedelta(minutes=8), changed_by=2)
    assert decide(healthy(rate=80.0, memory=memory), NOW).action == "hold"
    memory = replace(memory, changed_at=NOW - timedelta(minutes=9))  # 400 s and half a cold start
    assert decide(healthy(rate=80.0, memory=memory), NOW).action == "down"


def test_what_will_be_needed_again_soon_stays() -> None:
    outlook = Demand(40.0, 40.0, 40.0, 40.0, 40.0, stay=100.0)
    assert decide(healthy(demand=outlook, memory=watched(4)), NOW).action == "hold"


def test_a_backlog_beyond_the_objective_asks_for_instances() -> None:
    state = healthy(rate=95.0)
    waiting = replace(state, load=replace(state.load, queue=800.0))
    decision = decide(waiting, NOW)
    assert (decision.action, decision.binding) == ("up", "queue")
    # 800 wait, 10 x 10 x 2 would still be in time: 95 + 600 / 3 = 295, at most 1.85 x 95 req/s
    assert decision.proposed == 18


def test_a_backlog_that_grows_while_instances_start_asks_for_no_more_than_the_demand_bears() -> None:
    state = healthy(rate=95.0, instances=18, ready=10, starting=8)
    decision = decide(replace(state, load=replace(state.load, queue=50_000.0)), NOW)
    assert (decision.need, decision.proposed) == (18, 18)


def test_a_wish_just_above_the_fleet_waits_while_the_demand_itself_fits() -> None:
    near = Demand(90.0, 90.0, 101.0, 104.0, 106.0, 90.0)
    assert decide(healthy(demand=near), NOW).action == "hold"
    assert decide(healthy(demand=replace(near, q50=101.0)), NOW).action == "up"


def test_what_fell_away_may_return_so_a_share_of_the_last_hours_stays() -> None:
    gone = replace(demand(5.0), high=100.0)
    decision = decide(healthy(demand=gone, memory=watched(1)), NOW)
    assert (decision.binding, decision.need) == ("standby", 3)  # 15 % and 180 s / 3000 s of 100 req/s
    assert any("may return at once" in reason for reason in decision.because)


def test_the_reserve_is_what_is_served_above_the_median() -> None:
    saved = replace(watched(8), score=2.3263, scored_at=NOW)
    decision = decide(healthy(demand=Demand(80.0, 80.0, 100.0, 120.0, 140.0, 80.0), memory=saved), NOW)
    assert decision.demand_served == pytest.approx(120.0)
    assert decision.reserve == pytest.approx(40.0)
    assert "40 of it in reserve" in decision.because[0]
    blind = decide(healthy(demand=Demand()), NOW).to_dict()["demand"]
    assert isinstance(blind, dict)
    assert (blind["served"], blind["reserve"]) == (None, None)


def test_the_error_budget_steers_the_headroom() -> None:
    outlook = Demand(80.0, 80.0, 100.0, 120.0, 140.0, 80.0)
    before = replace(watched(8), score=2.0, scored_at=NOW - timedelta(hours=1))
    burning = decide(healthy(demand=outlook, memory=before, burn_rate=21.0), NOW)
    calm = decide(healthy(demand=outlook, memory=before, burn_rate=0.0), NOW)
    assert burning.headroom_score == pytest.approx(2.3)
    assert calm.headroom_score == pytest.approx(1.985)
    assert burning.memory.score == burning.headroom_score
    unseen = decide(healthy(demand=outlook, memory=before), NOW)
    assert unseen.headroom_score == 2.0


def test_an_outage_teaches_no_more_than_one_event() -> None:
    before = replace(watched(8), score=0.0, scored_at=NOW - timedelta(hours=1))
    assert decide(healthy(memory=before, burn_rate=100.0), NOW).headroom_score == pytest.approx(0.015 * 29)


def test_little_budget_left_allows_less_to_burn() -> None:
    before = replace(watched(8), score=2.0, scored_at=NOW - timedelta(hours=1))
    steady = decide(healthy(memory=before, burn_rate=1.0, budget_remaining=0.8), NOW)
    short = decide(healthy(memory=before, burn_rate=1.0, budget_remaining=0.0), NOW)
    assert steady.headroom_score == pytest.approx(2.0)
    assert short.headroom_score > 2.0


def test_what_was_learned_of_the_headroom_outlives_blindness() -> None:
    before = replace(watched(8), score=2.5, scored_at=NOW - timedelta(hours=1))
    blind = decide(healthy(demand=Demand(), memory=before), NOW)
    assert (blind.action, blind.memory.score) == ("hold_blind", 2.5)


def test_ghosts_in_the_queue_do_not_hold_a_fleet_up() -> None:
    """llm-d 769: waiting requests of clients long gone kept six of seven pods for ever."""
    state = healthy(rate=20.0, memory=watched(2))
    few = replace(state, load=replace(state.load, queue=30.0))
    assert decide(few, NOW).action == "down"


def test_a_full_kv_cache_asks_for_instances() -> None:
    state = healthy(rate=80.0)
    decision = decide(replace(state, load=replace(state.load, kv_usage_ratio=0.95)), NOW)
    assert (decision.binding, decision.proposed) == ("kv", 12)


def test_a_rising_tail_asks_for_one_unit_before_the_objective_is_missed() -> None:
    state = healthy(rate=80.0)
    rising = replace(state.load, ttft_seconds=1.8, ttft_before_seconds=0.6)
    decision = decide(replace(state, load=rising), NOW)
    assert (decision.action, decision.binding, decision.proposed) == ("up", "ttft_trend", 11)


def test_where_the_cause_is_not_capacity_the_advice_is_to_fix() -> None:
    state = healthy(rate=80.0, causes=("prefix_miss",))
    decision = decide(replace(state, load=replace(state.load, queue=900.0)), NOW)
    assert decision.action == "hold"
    assert any("do not scale, fix: prefix_miss" in advice for advice in decision.advice)


def test_a_capacity_that_fell_with_a_version_is_said() -> None:
    capacity = Capacity(10.0, 9.5, 10.5, "frontier", 1000, 20.0, drift=-0.18, drift_since="v2")
    decision = decide(healthy(capacity=capacity), NOW)
    assert any("-18% since v2" in advice for advice in decision.advice)


def test_a_unit_is_one_step() -> None:
    pool = Pool("decode", "moe", role="decode", unit=18, gpus_per_instance=8)
    decision = decide(healthy(rate=370.0, instances=36, pool=pool), NOW)
    assert decision.proposed == 54


def test_budget_quota_and_maximum_cut_and_say_so() -> None:
    dear = replace(POOL, budget_usd_per_hour=72.0)  # 12 instances of 2 GPUs at 3 USD
    decision = decide(healthy(rate=150.0, pool=dear), NOW)
    assert (decision.proposed, decision.binding) == (12, "budget")
    assert decide(healthy(rate=150.0, pool=replace(POOL, quota=11)), NOW).proposed == 11
    assert decide(healthy(rate=150.0, pool=replace(POOL, max=13)), NOW).proposed == 13


def test_unschedulable_instances_are_not_asked_for_again_and_again() -> None:
    state = healthy(rate=200.0, instances=12, ready=10, starting=2, unschedulable=2, unschedulable_seconds=1200.0)
    decision = decide(state, NOW)
    assert (decision.proposed, decision.unschedulable) == (12, 2)
    assert any("found no machine" in reason for reason in decision.because)


def test_the_load_of_a_lost_region_must_fit() -> None:
    decision = decide(healthy(rate=80.0, lost_region_share=0.5), NOW)
    assert (decision.binding, decision.proposed) == ("n_minus_1", 12)


def test_an_event_is_prepared_one_cold_start_ahead() -> None:
    launch = Event("launch", NOW + timedelta(seconds=170), NOW + timedelta(hours=1), factor=1.5)
    assert decide(healthy(rate=80.0, events=[launch]), NOW).proposed == 12
    far = replace(launch, start=NOW + timedelta(seconds=500))
    assert decide(healthy(rate=98.0, events=[far]), NOW).action == "hold"


def test_zero_only_after_holding_has_cost_more_than_starting() -> None:
    pool = replace(POOL, min=0)
    brief = healthy(rate=0.0, instances=1, pool=pool, idle_seconds=600.0, memory=watched(0))
    assert decide(brief, NOW).proposed == 1
    assert decide(replace(brief, idle_seconds=2000.0), NOW).proposed == 0


def test_a_pin_and_a_freeze_stand_above_everything() -> None:
    pinned = decide(healthy(rate=500.0, pin=Pin(7, NOW + timedelta(hours=2), "ana")), NOW)
    assert (pinned.action, pinned.proposed) == ("pinned", 7)
    assert "ana" in pinned.because[0]
    past = decide(healthy(rate=98.0, pin=Pin(7, NOW - timedelta(hours=2))), NOW)
    assert past.action == "hold"
    assert decide(healthy(rate=500.0, frozen=True), NOW).proposed == 10


def test_a_decision_explains_itself_as_the_contract_shapes_it() -> None:
    entry = decide(healthy(rate=150.0), NOW).to_dict()
    json.dumps(entry, allow_nan=False)
    keys = {
        "pool", "model", "role", "region", "current", "actual", "unschedulable", "proposed", "action", "because",
        "binding", "forecast_horizon_seconds", "cold_start_seconds", "demand", "capacity_per_instance", "what_if",
        "cost_per_hour", "confidence", "valid_until",
    }  # fmt: skip
    assert keys <= set(entry)
    assert entry["cost_per_hour"] == {"current": 60.0, "proposed": 90.0}
    assert entry["valid_until"] == "2026-03-04T12:01:00Z"


def test_one_fewer_is_worse_and_one_more_better() -> None:
    decision = decide(healthy(rate=98.0), NOW)
    assert decision.minus_1 is not None
    assert decision.plus_1 is not None
    assert decision.minus_1.p99_ttft_seconds > decision.plus_1.p99_ttft_seconds
    assert decision.minus_1.within_objective is False
    assert decision.plus_1.within_objective is True


def test_little_that_disagrees_is_said_and_lowers_confidence() -> None:
    state = healthy(rate=80.0)
    slow = replace(state, load=replace(state.load, mean_latency_seconds=10.0))
    decision = decide(slow, NOW)  # 80 x 10 / 20 = 40 instances
    assert any("Little's law asks for 40.0" in advice for advice in decision.advice)
    assert decision.confidence < decide(state, NOW).confidence


def test_thin_evidence_plans_with_less_capacity_and_less_confidence() -> None:
    thin = Capacity(10.0, 5.0, 20.0, "prior: assumed", 0)
    decision = decide(healthy(rate=80.0, capacity=thin), NOW)
    assert decision.need == 11
    assert decision.confidence < 0.5


def test_victims_are_named_only_when_some_go() -> None:
    state = healthy(rate=10.0, instances=20, memory=watched(1), victims=("a", "b", "c", "d"))
    assert decide(state, NOW).victims == ("a", "b", "c")
    assert decide(healthy(rate=98.0, victims=("a",)), NOW).victims == ()


def test_all_pools_are_decided_in_order() -> None:
    states = [healthy(pool=replace(POOL, name=name)) for name in ("b", "a")]
    assert [decision.pool for decision in decide_all(states, NOW)] == ["b", "a"]


@settings(max_examples=60, deadline=None)
@given(
    rate=st.floats(0, 1e5),
    instances=st.integers(0, 500),
    queue=st.one_of(st.just(nan), st.floats(0, 1e6)),
    age=st.floats(0, 1e4),
    reporting=st.floats(0, 1),
)
def test_never_a_shrink_while_blind_and_never_beyond_the_bounds(
    rate: float, instances: int, queue: float, age: float, reporting: float
) -> None:
    seen = Sight(NOW - timedelta(seconds=age), instances, int(reporting * instances))
    state = healthy(rate=rate, instances=instances, sight=seen, memory=watched(0), pool=replace(POOL, max=400))
    decision = decide(replace(state, load=replace(state.load, queue=queue)), NOW)
    if age > 60 or reporting < 0.75:
        assert decision.proposed >= min(instances, decision.proposed)
        assert decision.action != "down"
    if decision.action == "up":
        assert decision.proposed <= 400


@pytest.mark.parametrize("quantile", [0.5, 0.7, 0.9, 0.95, 0.99, 0.999])
def test_demand_between_its_quantiles_grows_with_the_quantile(quantile: float) -> None:
    outlook = Demand(1.0, 100.0, 120.0, 140.0, 160.0)
    assert 100.0 <= outlook.at(quantile) <= 160.1
    assert outlook.at(0.9) == pytest.approx(120.0, abs=0.1)
    assert demand(3.0).at(quantile) == pytest.approx(3.0)


def test_below_the_median_demand_never_falls_below_nothing() -> None:
    idle = Demand(0.1, 0.1, 5.0, 9.0, 12.0, 0.1)
    assert idle.at_score(-1.0) == 0.0
    assert Demand().at_score(-1.0) != Demand().at_score(-1.0)  # unknown stays unknown
    saved = replace(watched(1), score=-1.0, scored_at=NOW)
    assert decide(healthy(demand=idle, memory=saved), NOW).minus_1 is not None
