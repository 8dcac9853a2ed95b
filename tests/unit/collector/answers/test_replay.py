"""Replays of recorded requests, the fit behind them, and fleets from files."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

from analytics.replay.scorecard import Fleet, Objective
from collector.answers.fleet import own_fleet, read_fleet
from collector.answers.replay import calibrate, from_columns, recorded, replay
from signals.errors import ConfigError, InputError, NotEnoughDataError, UnknownNameError
from tests.unit.collector.answers.scale_store import START, Store


def busy_store() -> Store:
    store = Store()
    now = START
    generator = np.random.default_rng(1)
    for k in range(80):
        now = START + timedelta(seconds=15 * (k + 1))
        steps = float(generator.integers(100, 200))
        prompt = steps * 20
        seconds = steps * 0.02 + prompt * 0.0005
        figures = {"steps": steps, "prompt_tokens": prompt, "generation_tokens": steps * 4, "prefix_hit_tokens": 0.0}
        gauges = {"running": 4.0, "queue_depth": 0.0, "kv_usage_ratio": 0.2, "interval_seconds": seconds}
        who = {"instance": "a", "model": "llama", "role": "both", "scrape_state": "ok"}
        store.insert("engine_samples", ts=now, **who, **figures, **gauges)
    store.requests("a", 0.5, ttft=0.3, minutes=20)
    return store


def test_rows_are_as_the_contract_shapes_them_with_the_oracle_among_them() -> None:
    _, load = recorded(busy_store().reader, START + timedelta(minutes=21))
    answer = replay(load, policies=["sloscope", "keda-in-flight", "static-peak"], cold_start_seconds=30.0)
    rows = answer["rows"]
    assert isinstance(rows, list)
    assert {row["policy"] for row in rows} == {"oracle", "sloscope", "keda-in-flight", "static-peak"}
    keys = {"policy", "good_ratio", "bad_minutes", "gpu_hours", "gpu_hours_vs_oracle", "flaps", "scale_events",
            "p99_ttft", "usd"}  # fmt: skip
    assert all(keys == set(row) for row in rows)
    assert next(row for row in rows if row["policy"] == "oracle")["gpu_hours_vs_oracle"] == 1.0


def test_a_price_turns_hours_into_money() -> None:
    _, load = recorded(busy_store().reader, START + timedelta(minutes=21))
    rows = replay(load, fleet=Fleet(usd_per_gpu_hour=3.0, gpus_per_instance=2), policies=["sloscope"])["rows"]
    assert isinstance(rows, list)
    assert rows[0]["usd"] == pytest.approx(3.0 * rows[0]["gpu_hours"], rel=1e-4)


def test_too_small_a_fleet_misses_the_objective() -> None:
    load = from_columns({
        "ts": np.datetime64("2026-01-01") + np.arange(6000) * np.timedelta64(50, "ms"),
        "input_tokens": np.full(6000, 2000.0),
        "output_tokens": np.full(6000, 100.0),
    })  # fmt: skip
    small = replay(load, fleet=Fleet(largest=1), policies=["sloscope"], objective=Objective(1.0))["rows"]
    assert isinstance(small, list)
    assert all(row["good_ratio"] < 0.9 for row in small)
    assert all(row["bad_minutes"] > 0 for row in small)


def test_an_unknown_policy_and_no_arrivals_are_errors() -> None:
    _, load = recorded(busy_store().reader, START + timedelta(minutes=21))
    with pytest.raises(UnknownNameError, match="knative"):
        replay(load, policies=["knativ"])
    nothing = from_columns({"ts": np.empty(0, dtype="datetime64[us]"), "input_tokens": np.empty(0)})
    with pytest.raises(InputError):
        replay(nothing)


def test_the_busiest_model_is_replayed_by_default() -> None:
    store = busy_store()
    store.requests("z", 0.01, ttft=0.1, model="tiny")
    name, _ = recorded(store.reader, START + timedelta(minutes=21))
    assert name == "llama"
    with pytest.raises(UnknownNameError):
        recorded(store.reader, START + timedelta(minutes=21), model="tinny")
    with pytest.raises(NotEnoughDataError):
        recorded(Store().reader, START)


def test_tokens_that_speculation_gave_take_no_steps() -> None:
    load = from_columns({
        "ts": np.array(["2026-01-01T00:00:01", "2026-01-01"], dtype="datetime64[us]"),
        "input_tokens": np.array([10.0, 20.0]),
        "output_tokens": np.array([100.0, 50.0]),
        "spec_accepted_tokens": np.array([60.0, np.nan]),
        "session": np.array(["s", None], dtype=object),
    })  # fmt: skip
    assert load.input_tokens.tolist() == [20, 10]
    assert load.output_tokens.tolist() == [50, 40]
    assert load.key.tolist() == [-1, 0]


def test_the_engine_is_fitted_to_its_samples_and_compared_with_what_was_measured() -> None:
    found = calibrate(busy_store().reader, START + timedelta(minutes=21))
    engine, ttft = found["engine"], found["ttft"]
    assert isinstance(engine, dict)
    assert isinstance(ttft, dict)
    assert engine["base_seconds"] * 20 + engine["per_prefill_token_seconds"] * 400 > 0
    assert ttft["measured"]["p50"] == pytest.approx(0.3)
    assert ttft["predicted"]["p50"] > 0
    with pytest.raises(NotEnoughDataError):
        calibrate(Store().reader, START)


def test_a_fleet_is_fitted_where_possible_and_default_otherwise() -> None:
    fleet, basis = own_fleet(busy_store().reader, START + timedelta(minutes=21))
    assert "calibrated on" in basis
    assert fleet.engine.per_attention_seconds == 0.0
    _, basis = own_fleet(Store().reader, START)
    assert basis.startswith("default engine")


def test_a_fleet_file_names_its_faults() -> None:
    good = read_fleet("engine: {seats: 64, base_seconds: 0.01}\nusd_per_gpu_hour: 2.5\nrouting: affinity\n")
    assert (good.engine.seats, good.usd_per_gpu_hour, good.routing) == (64, 2.5, "affinity")
    with pytest.raises(ConfigError) as caught:
        read_fleet("engine: {seat: 64, kv_tokens: 1.5}\nlargest: -1\nrouting: afinity\n")
    faults = "\n".join(caught.value.faults)
    assert "engine.seat: unknown key; did you mean 'seats'?" in faults
    assert "engine.kv_tokens: expected a whole number" in faults
    assert "largest: expected a number from 0" in faults
    assert "did you mean 'affinity'" in faults
    for text in ("[]", "{", "engine: 3"):
        with pytest.raises(ConfigError):
            read_fleet(text)


def test_cached_tokens_that_no_span_tells_come_from_the_engines_hit_ratio() -> None:
    store = busy_store()
    store.connection.execute("update engine_samples set prefix_hit_tokens = prompt_tokens * 0.5")
    _, load = recorded(store.reader, START + timedelta(minutes=21))
    assert set(load.cached.tolist()) == {250}


def test_seats_that_no_engine_tells_are_what_ran_while_others_waited() -> None:
    store = busy_store()
    store.connection.execute("update engine_samples set queue_depth = 3")
    engine = calibrate(store.reader, START + timedelta(minutes=21))["engine"]
    assert isinstance(engine, dict)
    assert engine["seats"] == 4
