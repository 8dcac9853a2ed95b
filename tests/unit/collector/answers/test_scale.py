"""Recommendations from a store: pools seen or configured, blind or idle, pinned or free."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

import pytest

from analytics.scaling import Pin, Pool
from analytics.scaling.growths import Growths
from collector.answers.scale import Wishes, decisions, external_metrics, replicas, scale
from collector.answers.scale_grades import grades
from signals.errors import BlindError, UnknownNameError
from tests.unit.collector.answers.scale_store import START, Store


def one(answer: dict[str, object]) -> dict[str, object]:
    entries = answer["recommendations"]
    assert isinstance(entries, list)
    assert len(entries) == 1
    return dict(entries[0])


def test_an_empty_store_recommends_nothing() -> None:
    assert scale(Store().reader, START)["recommendations"] == []


def test_a_configured_pool_without_data_is_blind_not_zero() -> None:
    entry = one(scale(Store().reader, START, pools=[Pool("chat", "llama", min=2)]))
    assert (entry["action"], entry["binding"]) == ("hold_blind", "stale_data")


def test_without_pools_each_model_role_and_region_seen_is_one() -> None:
    store = Store()
    store.scrapes("a", 2.0, region="eu")
    store.scrapes("b", 2.0, region="us")
    now = store.scrapes("c", 2.0, region="us", model="qwen")
    found = scale(store.reader, now)["recommendations"]
    assert isinstance(found, list)
    assert [entry["pool"] for entry in found] == ["llama@eu", "llama@us", "qwen@us"]
    json.dumps(found, allow_nan=False)


def test_demand_is_what_the_engines_served_and_what_joined_their_queues() -> None:
    store = Store()
    store.scrapes("a", 2.0)
    now = store.scrapes("b", 3.0)
    entry = one(scale(store.reader, now))
    demand = entry["demand"]
    assert isinstance(demand, dict)
    assert demand["now"] == pytest.approx(5.0, rel=0.05)
    assert (entry["current"], entry["actual"]) == (2, 2)


def test_a_saturated_pool_is_told_to_grow_and_by_what_evidence() -> None:
    store = Store()
    now = store.scrapes("a", 2.0, queue=60.0)
    entry = one(scale(store.reader, now))
    capacity = entry["capacity_per_instance"]
    assert isinstance(capacity, dict)
    assert entry["action"] == "up"
    assert (capacity["from"], capacity["value"]) == ("saturation", pytest.approx(1.7, rel=0.05))


def test_missed_objectives_at_high_rates_draw_the_frontier() -> None:
    store = Store()
    store.scrapes("fast", 2.0)
    store.requests("fast", 2.0, ttft=0.5)
    now = store.scrapes("slow", 6.0)
    store.requests("slow", 6.0, ttft=4.0)
    capacity = one(scale(store.reader, now))["capacity_per_instance"]
    assert isinstance(capacity, dict)
    assert capacity["from"] == "frontier"
    assert 2.0 <= capacity["value"] <= 6.0


def test_no_new_page_for_minutes_is_blind_and_gives_keda_an_error() -> None:
    store = Store()
    now = store.scrapes("a", 2.0) + timedelta(minutes=5)
    found = decisions(store.reader, now)
    assert (found[0].action, found[0].proposed) == ("hold_blind", 1)
    with pytest.raises(BlindError) as caught:
        replicas(found, "llama")
    assert caught.value.http_status == 503


def test_failed_scrapes_are_blindness_and_the_instance_is_still_there() -> None:
    store = Store()
    last = store.scrapes("a", 2.0, minutes=30)
    now = store.scrapes("a", 2.0, minutes=10, start=last, state="failed")
    entry = one(scale(store.reader, now))
    assert (entry["action"], entry["current"]) == ("hold_blind", 1)


def test_an_instance_that_is_gone_is_not_counted() -> None:
    store = Store()
    store.scrapes("a", 2.0)
    last = store.scrapes("b", 2.0)
    now = last + timedelta(seconds=15)
    store.insert("engine_samples", ts=now, instance="b", model="llama", role="both", scrape_state="gone")
    assert one(scale(store.reader, now))["current"] == 1


def test_idle_is_not_blind() -> None:
    store = Store()
    now = store.scrapes("a", 0.0)
    entry = one(scale(store.reader, now))
    assert entry["action"] == "hold"
    assert entry["proposed"] == 1


def test_the_cold_start_is_measured_from_lives() -> None:
    store = Store()
    now = store.scrapes("a", 2.0)
    for name, seconds in (("a", 60), ("b", 240)):
        store.insert("instances", instance=name, model="llama", started_at=START, max_running=16,
                     ready_at=START + timedelta(seconds=seconds), stopped_at=None if name == "a" else now)  # fmt: skip
    entry = one(scale(store.reader, now))
    assert entry["cold_start_seconds"] == entry["forecast_horizon_seconds"] == 240.0
    assert entry["current"] == 1


def test_an_instance_that_starts_is_asked_for_but_does_not_serve_yet() -> None:
    store = Store()
    now = store.scrapes("a", 2.0)
    store.insert("instances", instance="b", model="llama", role="both", started_at=now)
    entry = one(scale(store.reader, now))
    assert (entry["current"], entry["actual"]) == (2, 1)


def test_configured_pools_match_by_label_then_by_model_role_and_region() -> None:
    store = Store()
    store.scrapes("a", 2.0, pool="blue", region="eu")
    store.scrapes("b", 2.0, region="eu")
    now = store.scrapes("c", 2.0, model="other")
    pools = [Pool("blue", "llama"), Pool("rest", "llama", region="eu")]
    found = {decision.pool: decision.current for decision in decisions(store.reader, now, pools=pools)}
    assert found == {"blue": 1, "rest": 1}


def test_one_pool_can_be_asked_for_and_an_unknown_one_names_the_nearest() -> None:
    store = Store()
    now = store.scrapes("a", 2.0)
    assert one(scale(store.reader, now, pool="llama"))["pool"] == "llama"
    with pytest.raises(UnknownNameError, match="did you mean 'llama'"):
        scale(store.reader, now, pool="lama")


def test_pins_and_freezes_stand() -> None:
    store = Store()
    now = store.scrapes("a", 2.0, queue=60.0)
    pinned = one(scale(store.reader, now, pins={"llama": Pin(3, now + timedelta(hours=2))}))
    assert (pinned["action"], pinned["proposed"]) == ("pinned", 3)
    frozen = scale(store.reader, now, frozen=True)
    assert frozen["frozen"] is True
    assert one(frozen)["action"] == "pinned"


def test_a_restarted_collector_remembers_needs_from_its_stored_decisions() -> None:
    store = Store()
    store.scrapes("a", 0.1)
    now = store.scrapes("b", 0.1)
    for minutes in (50, 20, 5):
        store.insert("recommendations", ts=now - timedelta(minutes=minutes), pool="llama", current=2, proposed=2,
                     action="hold", document=json.dumps({"need": 1}))  # fmt: skip
    assert one(scale(store.reader, now))["action"] == "down"
    fresh = Store()
    fresh.scrapes("a", 0.1)
    assert one(scale(fresh.reader, fresh.scrapes("b", 0.1)))["action"] == "hold"


@pytest.mark.parametrize(("lasting", "action"), [(1, "down"), (2, "hold")])
def test_a_stored_backlog_is_not_remembered_once_it_is_worked_off(lasting: int, action: str) -> None:
    store = Store()
    store.scrapes("a", 0.1)
    now = store.scrapes("b", 0.1)
    for minutes in (50, 20, 2):
        document = json.dumps({"need": 2, "lasting_need": lasting})
        store.insert("recommendations", ts=now - timedelta(minutes=minutes), pool="llama", current=2, proposed=2,
                     action="hold", document=document)  # fmt: skip
    assert one(scale(store.reader, now))["action"] == action


def test_a_restarted_collector_goes_on_with_the_headroom_it_had_learned() -> None:
    store = Store()
    now = store.scrapes("a", 2.0)
    document = json.dumps({"need": 1, "headroom_score": 2.5})
    store.insert("recommendations", ts=now - timedelta(minutes=5), pool="llama", current=1, proposed=1,
                 action="hold", document=document)  # fmt: skip
    assert one(scale(store.reader, now))["headroom_score"] == 2.5


def test_the_error_budget_and_an_open_cause_reach_the_decision() -> None:
    store = Store()
    now = store.scrapes("a", 2.0, queue=60.0)
    wishes = Wishes(budgets={"llama": (-1.0, 3.0)}, causes={"llama": ("prefix_miss",)})
    entry = one(scale(store.reader, now, wishes=wishes))
    assert any("prefix_miss" in str(advice) for advice in entry["advice"])  # type: ignore[attr-defined]  # a list


def test_kubernetes_gets_a_quantity_beyond_its_tolerance_when_asked() -> None:
    store = Store()
    now = store.scrapes("a", 2.0, queue=60.0)
    found = decisions(store.reader, now)
    body = external_metrics(found, "llama", now, beyond_tolerance=True)
    items = body["items"]
    assert isinstance(items, list)
    assert items[0]["value"] == str(found[0].proposed)
    assert items[0]["metricLabels"] == {"pool": "llama"}


def three_days(store: Store, minutes: int) -> datetime:
    """Store three days of a busy morning, a scrape every so many minutes; return the time of the last one."""
    start = START - timedelta(days=3)
    rows = []
    for k in range(3 * 1440 // minutes):
        at = start + timedelta(minutes=minutes * (k + 1))
        rate, span = 2.0 + (3.0 if 6 <= at.hour < 9 else 0.0) + 0.1 * (k % 7), minutes * 60.0
        rows.append(
            (at, span, "a", "llama", "both", "ok", 0.0, 4.0, 0.3, rate * span, rate * span * 500, rate * span * 100)
        )
    names = ["ts", "interval_seconds", "instance", "model", "role", "scrape_state", "queue_depth", "running",
             "kv_usage_ratio", "first_tokens", "prompt_tokens", "generation_tokens"]  # fmt: skip
    store.bulk("engine_samples", names, rows)
    return start + timedelta(days=3)


def test_days_of_history_bring_the_curve_of_the_day() -> None:
    store = Store()
    entry = one(scale(store.reader, three_days(store, 5)))
    demand = entry["demand"]
    assert isinstance(demand, dict)
    assert "curve of the day" in str(demand["basis"])


def test_growth_that_is_kept_decides_as_growth_that_is_learned_now() -> None:
    store = Store()
    now = three_days(store, 1)
    growths = Growths()
    fresh = one(scale(store.reader, now))["demand"]
    kept = [one(scale(store.reader, now, wishes=Wishes(growths=growths)))["demand"] for _ in range(2)]
    assert growths.stale([("llama", 4)], now) == set()
    for demand in kept:
        assert isinstance(demand, dict) and isinstance(fresh, dict)
        for name in ("now", "q50", "q90"):
            assert demand[name] == pytest.approx(fresh[name], rel=0.02), name


def test_a_lost_region_is_provided_for_when_asked() -> None:
    store = Store()
    store.scrapes("a", 20.0, region="eu")
    now = store.scrapes("b", 10.0, region="us")
    plain = {d.pool: d for d in decisions(store.reader, now)}
    safe = {d.pool: d for d in decisions(store.reader, now, wishes=Wishes(survive_regions=True))}
    assert "n_minus_1" not in plain["llama@us"].needs
    assert safe["llama@us"].needs["n_minus_1"] == pytest.approx(3 * safe["llama@us"].needs["forecast"], rel=0.05)


def test_past_decisions_are_graded_once_their_horizon_has_passed() -> None:
    store = Store()
    now = store.scrapes("a", 20.0)
    document = {"proposed": 2, "need": 2, "action": "hold", "forecast_horizon_seconds": 180.0}
    document["capacity_per_instance"] = {"value": 10.0}
    for minutes in (20, 1):
        store.insert("recommendations", ts=now - timedelta(minutes=minutes), pool="llama", model="llama", action="hold",
                     document=json.dumps(document))  # fmt: skip
    found = grades(store.reader, now)
    assert [(entry["pool"], entry["grade"]) for entry in found] == [("llama", "right")]
    assert grades(Store().reader, now) == []
