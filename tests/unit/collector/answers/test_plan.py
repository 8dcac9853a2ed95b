"""The plan answer: assumed beside measured, given kept, faults named, and no telemetry still a plan."""

from __future__ import annotations

import json
from datetime import timedelta

import numpy as np
import pytest

from analytics.planners import get, names
from benchmarks.planning.cases import BUILDERS
from benchmarks.planning.draws import Case
from benchmarks.planning.store import START, Store
from collector.answers.plan import catalogue, plan
from signals.errors import ConfigError, InputError, UnknownNameError

pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def autoscaling() -> Case:
    case = Case(np.random.default_rng(12), "autoscaling")
    BUILDERS["autoscaling"](case)
    return case


@pytest.mark.parametrize("name", names())
def test_without_a_store_the_plan_is_assumed(name: str) -> None:
    report = plan(None, None, name, {})
    assert {"planner", "inputs", "steps", "verdicts", "headline"} <= set(report)
    assert report["measured_plan"] is None
    assert {row["source"] for row in report["inputs"].values()} == {"assumed"}  # type: ignore[attr-defined]
    json.dumps(report, allow_nan=False)


@pytest.mark.parametrize("name", names())
def test_an_empty_store_is_no_telemetry(name: str) -> None:
    report = plan(Store().reader(), None, name, {})
    assert report["measured_plan"] is None
    assert report["steps"] == plan(None, None, name, {})["steps"]


@pytest.mark.parametrize("name", names())
def test_measured_inputs_hold_the_parameters_that_made_the_telemetry(name: str) -> None:
    case = Case(np.random.default_rng(1), name)
    BUILDERS[name](case)
    report = plan(case.store.reader(), None, name, {})
    json.dumps(report, allow_nan=False)
    outside = []
    for key, truth in case.truth.items():
        row = report["inputs"][key]  # type: ignore[index]
        assert row["source"] == "measured", key
        low, high = row["interval"]
        if not low * (1 - 1e-9) <= truth <= high * (1 + 1e-9):
            outside.append(key)
    assert len(outside) <= 1, outside
    assert report["measured_plan"] is not None


def test_the_top_steps_are_the_measured_plans(autoscaling: Case) -> None:
    report = plan(autoscaling.store.reader(), None, "autoscaling", {})
    measured = report["measured_plan"]
    assert isinstance(measured, dict)
    assert report["steps"] == measured["steps"]
    assumed = report["assumed_plan"]
    assert isinstance(assumed, dict)
    assert assumed["headline"] == get("autoscaling").plan().headline


def test_what_a_person_gives_is_not_measured_over(autoscaling: Case) -> None:
    report = plan(autoscaling.store.reader(), None, "autoscaling", {"requests_per_second": "77"})
    row = report["inputs"]["requests_per_second"]  # type: ignore[index]
    assert row["source"] == "given"
    assert row["value"] == 77


def test_the_broken_assumption_is_named_with_what_it_moves(autoscaling: Case) -> None:
    report = plan(autoscaling.store.reader(), None, "autoscaling", {})
    broken = report["broken_assumptions"]
    assert isinstance(broken, list)
    assert {"input", "assumed", "measured", "interval", "step", "step_before", "step_after"} <= set(broken[0])
    first = report["verdicts"][0]  # type: ignore[index]
    assert first["verdict"].startswith("the assumed ")
    assert first["holds"] is False


def test_another_models_telemetry_is_left_out(autoscaling: Case) -> None:
    report = plan(autoscaling.store.reader(), None, "autoscaling", {}, model="another")
    assert report["measured_plan"] is None


def test_an_imported_trace_gives_rates_and_lengths() -> None:
    store = Store()
    rng = np.random.default_rng(5)
    ts = np.sort(rng.uniform(0, 3600, 5_000))
    store.add("arrivals", ts, model="m", input_tokens=rng.integers(900, 1100, 5_000), output_tokens=200)
    report = plan(store.reader(), None, "moe_service", {})
    inputs = report["inputs"]
    assert isinstance(inputs, dict)
    assert inputs["input_tokens"]["value"] == pytest.approx(1000, rel=0.01)
    assert inputs["peak_requests_per_second"]["source"] == "measured"


def test_prefix_blocks_stand_in_for_sessions() -> None:
    store = Store()
    rng = np.random.default_rng(9)
    first = rng.uniform(0, 50_000, 2_000)
    again = first[rng.random(2_000) < 0.5] + 120.0
    block = np.arange(2_000)
    back = block[: len(again)]
    store.add(
        "requests",
        np.concatenate([first, first[back] + 120.0]),
        model="m",
        status="ok",
        prefix_hashes=[[int(each)] for each in np.concatenate([block, back])],
    )
    row = plan(store.reader(), None, "kv_pool", {})["inputs"]["first_return_ratio"]  # type: ignore[index]
    assert row["value"] == pytest.approx(len(again) / 2_000, abs=0.03)


def test_names_that_do_not_exist_offer_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'autoscaling'"):
        plan(None, None, "autoscalling", {})
    with pytest.raises(ConfigError, match="did you mean 'cold_start_seconds'"):
        plan(None, None, "autoscaling", {"cold_start_second": 1})
    with pytest.raises(InputError, match=r"cold_start_seconds.*from 0.1 to 86400 s"):
        plan(None, None, "autoscaling", {"cold_start_seconds": -5})


def test_the_catalogue_lists_every_planner_with_its_question() -> None:
    found = catalogue()
    assert [row["planner"] for row in found] == list(names())
    assert all(str(row["question"]).endswith("?") for row in found)


def test_a_store_of_long_ago_is_read_at_its_newest_time(autoscaling: Case) -> None:
    report = plan(autoscaling.store.reader(), START + timedelta(days=400), "autoscaling", {})
    assert report["measured_plan"] is not None


def test_a_scraped_histogram_gives_a_mean_between_its_edges() -> None:
    store = Store()
    rng = np.random.default_rng(2)
    ts = np.arange(0, 7200, 30.0)
    store.add("requests", ts, model="m", status="ok", input_tokens=100)
    for low, high, share in ((0.0, 0.001, 0.2), (0.001, 0.002, 0.5), (0.002, 0.004, 0.3)):
        store.add(
            "engine_bins",
            ts,
            instance="gateway",
            model="m",
            interval_seconds=30.0,
            metric="gateway_router_seconds",
            edge_lo=low,
            edge_hi=high,
            count=rng.poisson(1000 * share, len(ts)),
        )
    row = plan(store.reader(), None, "gateway", {})["inputs"]["router_seconds"]  # type: ignore[index]
    assert row["source"] == "measured"
    low, high = row["interval"]
    assert low == pytest.approx(0.0011, rel=0.05)
    assert high == pytest.approx(0.0024, rel=0.05)


def test_a_measure_that_needs_another_input_takes_the_measured_one() -> None:
    case = Case(np.random.default_rng(4), "kv_pool")
    BUILDERS["kv_pool"](case)
    before = plan(case.store.reader(), None, "kv_pool", {})["inputs"]
    case.store.add("instances", np.array([0.0]), instance=["i0"], model="m", host="h", gpu_count=4)
    after = plan(case.store.reader(), None, "kv_pool", {})["inputs"]
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert after["gpus_per_machine"]["value"] == 4
    assert after["mfu"]["value"] == pytest.approx(2 * before["mfu"]["value"])
