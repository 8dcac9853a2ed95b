"""The forecast answer, from stored requests and samples to CONTRACT's object."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import pytest

from analytics.forecast import Event
from collector.answers.forecast import backtest, demand, forecast
from collector.store.reader import DuckReader
from signals.errors import ConfigError, NotEnoughDataError, UnknownNameError
from tests.support.public_store import public_store

NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


def store_requests(connection: duckdb.DuckDBPyConnection, moments: list[datetime], **columns: object) -> None:
    row = {"model": "m", "tenant": "acme", "input_tokens": 100, "output_tokens": 10, "status": "ok"} | columns
    names = ", ".join(["ts", "request_id", "source", *row])
    marks = ", ".join("?" for _ in row)
    connection.execute(
        f"insert into requests ({names}) select unnest(?::timestamptz[]), uuid()::varchar, 'import', {marks}",
        [moments, *row.values()],
    )


def store_samples(connection: duckdb.DuckDBPyConnection, moments: list[datetime], first_tokens: float) -> None:
    connection.execute(
        "insert into engine_samples (ts, interval_seconds, instance, model, scrape_state, first_tokens)"
        " select unnest(?::timestamptz[]), 60, 'i', 'm', 'ok', ?",
        [moments, first_tokens],
    )


def every(seconds: float, since: datetime, until: datetime) -> list[datetime]:
    count = int((until - since).total_seconds() // seconds)
    return [since + timedelta(seconds=seconds * k) for k in range(count)]


def test_five_minutes_of_data_give_a_sensible_forecast_with_low_confidence() -> None:
    connection = public_store()
    store_requests(connection, every(0.5, NOW - timedelta(minutes=5), NOW))
    found = forecast(DuckReader(connection), NOW, model="m")
    points = found["points"]
    assert isinstance(points, list)
    assert len(points) == 144
    assert points[0]["q50"] == pytest.approx(2.0, rel=0.3)
    assert all(p["q10"] <= p["q50"] <= p["q90"] <= p["q99"] for p in points)
    assert points[0]["ts"] == "2026-03-10T12:10:00Z" or points[0]["ts"] == "2026-03-10T12:00:00Z"
    assert float(str(found["confidence"])) < 0.1
    assert "hour" in str(found["basis"])


def test_the_object_is_json_and_has_the_contracts_keys() -> None:
    connection = public_store()
    store_requests(connection, every(60, NOW - timedelta(hours=3), NOW))
    found = forecast(DuckReader(connection), NOW, model="m", horizon_seconds=3600)
    json.dumps(found, allow_nan=False)
    assert {"step_seconds", "unit", "points", "basis", "confidence", "backtest"} <= set(found)
    assert found["unit"] == "per second"
    backtest = found["backtest"]
    assert isinstance(backtest, dict)
    assert {"mase", "pinball", "coverage"} <= set(backtest)


def test_scrapes_that_never_count_a_signal_show_no_demand_rather_than_none() -> None:
    connection = public_store()
    store_samples(connection, every(60, NOW - timedelta(hours=3), NOW), first_tokens=4)
    reader = DuckReader(connection)
    _, counted = demand(reader, NOW, model="m", signal="requests")
    _, unknown = demand(reader, NOW, model="m", signal="output_tokens")
    assert np.isfinite(counted).all()
    assert not np.isfinite(unknown).any()
    points = forecast(reader, NOW, model="m", signal="output_tokens", horizon_seconds=1200)["points"]
    assert isinstance(points, list)
    assert all(point["q50"] is None for point in points)


def test_a_step_that_nothing_watched_is_missing_and_a_sampled_idle_step_is_zero() -> None:
    connection = public_store()
    start = NOW - timedelta(hours=3)
    store_requests(connection, every(60, start, start + timedelta(hours=1)))
    store_samples(connection, every(60, start, start + timedelta(hours=2)), 0.0)
    _, values = demand(DuckReader(connection), NOW, model="m")
    assert values[:6] == pytest.approx(np.full(6, 1 / 60), rel=0.1)
    assert (values[6:12] == 0).all()
    assert np.isnan(values[13:]).all()


def test_the_engines_counter_stands_in_where_no_request_was_recorded() -> None:
    connection = public_store()
    store_samples(connection, every(60, NOW - timedelta(hours=2), NOW), 30.0)
    _, values = demand(DuckReader(connection), NOW, model="m")
    assert values[1:-1] == pytest.approx(np.full(len(values) - 2, 0.5))


def test_demand_counts_by_arrival_and_tokens_sum() -> None:
    connection = public_store()
    store_requests(connection, every(6, NOW - timedelta(hours=1), NOW), input_tokens=300)
    _, values = demand(DuckReader(connection), NOW, model="m", signal="input_tokens")
    assert values == pytest.approx(np.full(len(values), 50.0), rel=0.02)


def test_a_tenant_that_is_silent_while_others_call_has_zero_demand() -> None:
    connection = public_store()
    store_requests(connection, every(60, NOW - timedelta(hours=2), NOW))
    store_requests(connection, every(60, NOW - timedelta(hours=2), NOW - timedelta(hours=1)), tenant="globex")
    _, values = demand(DuckReader(connection), NOW, model="m", tenant="globex")
    assert (values[-5:] == 0).all()
    assert (values[:5] > 0).all()


def test_tokens_that_requests_do_not_tell_are_taken_from_the_engines_counter() -> None:
    connection = public_store()
    start = NOW - timedelta(hours=2)
    store_requests(connection, every(60, start, NOW), cached_tokens=None)
    connection.execute(
        "insert into engine_samples (ts, interval_seconds, instance, model, scrape_state, prefix_hit_tokens)"
        " select unnest(?::timestamptz[]), 60, 'i', 'm', 'ok', 30",
        [every(60, start, NOW)],
    )
    _, values = demand(DuckReader(connection), NOW, model="m", signal="cached_tokens")
    assert values[1:-1] == pytest.approx(np.full(len(values) - 2, 0.5))


def test_tokens_that_nobody_tells_are_missing_and_never_zero() -> None:
    connection = public_store()
    start = NOW - timedelta(hours=2)
    store_requests(connection, every(60, start, NOW - timedelta(hours=1)), cached_tokens=None)
    store_requests(connection, every(60, NOW - timedelta(hours=1), NOW), cached_tokens=60)
    reader = DuckReader(connection)
    _, whole = demand(reader, NOW, model="m", signal="cached_tokens")
    _, own = demand(reader, NOW, model="m", signal="cached_tokens", tenant="acme")
    for values in (whole, own):
        assert np.isnan(values[:-7]).all()
        assert values[-6:] == pytest.approx(np.full(6, 1.0))
    found = forecast(reader, NOW, model="m", signal="cached_tokens", parts=2, horizon_seconds=1200)
    json.dumps(found, allow_nan=False)


def test_a_tenant_that_nobody_knows_is_an_error_and_one_that_is_silent_here_has_no_demand() -> None:
    connection = public_store()
    store_requests(connection, every(60, NOW - timedelta(hours=2), NOW))
    store_requests(connection, [NOW - timedelta(hours=1)], model="other", tenant="globex")
    reader = DuckReader(connection)
    with pytest.raises(UnknownNameError, match="acme"):
        forecast(reader, NOW, model="m", tenant="acmi")
    points = forecast(reader, NOW, model="m", tenant="globex", horizon_seconds=1200)["points"]
    assert isinstance(points, list)
    assert all(point["q50"] == 0 for point in points)


def test_an_unknown_model_or_signal_is_named_with_the_nearest() -> None:
    connection = public_store()
    store_requests(connection, [NOW], model="llama-70b")
    reader = DuckReader(connection)
    with pytest.raises(UnknownNameError, match="llama-70b"):
        forecast(reader, NOW, model="llama-7b")
    with pytest.raises(UnknownNameError, match="requests"):
        forecast(reader, NOW, model="llama-70b", signal="request")


def test_a_step_that_does_not_divide_a_day_is_refused() -> None:
    with pytest.raises(ConfigError, match="divide a day"):
        forecast(DuckReader(public_store()), NOW, model="m", step_seconds=7)


def daily_requests(connection: duckdb.DuckDBPyConnection, days: int, tenant: str, per_hour: int) -> None:
    """Store more requests by day than by night, in SQL because there are many."""
    connection.execute(
        """insert into requests (
            ts, request_id, source, model, tenant, input_tokens, output_tokens, status, length_bucket
        )
        select
            start + to_seconds(cast(3600 * (hour + part / wanted) as bigint)), tenant || hour || '-' || part,
            'import', 'm', tenant, 100, 10, 'ok', '0-1k'
        from (
            select $start::timestamptz as start, $tenant as tenant, hour,
                cast($per_hour * (1.5 - cos(2 * pi() * hour / 24)) as bigint) as wanted
            from range($hours) as hours(hour)
        ), range(3 * $per_hour) as parts(part)
        where part < wanted""",
        {"start": NOW - timedelta(days=days), "tenant": tenant, "per_hour": per_hour, "hours": 24 * days},
    )


def test_parts_sum_to_the_whole() -> None:
    connection = public_store()
    daily_requests(connection, 3, "acme", 60)
    daily_requests(connection, 3, "globex", 30)
    daily_requests(connection, 3, "initech", 12)
    found = forecast(DuckReader(connection), NOW, model="m", parts=2, horizon_seconds=21_600, step_seconds=1800)
    parts, points = found["parts"], found["points"]
    assert isinstance(parts, list)
    assert isinstance(points, list)
    assert [(part["tenant"], part["rest"]) for part in parts] == [("acme", False), ("globex", False), (None, True)]
    for place, point in enumerate(points):
        assert sum(part["points"][place]["q50"] for part in parts) == pytest.approx(point["q50"], rel=1e-6)


def test_a_new_tenant_borrows_the_fleets_day() -> None:
    connection = public_store()
    daily_requests(connection, 6, "acme", 60)
    store_requests(connection, every(90, NOW - timedelta(hours=5), NOW), tenant="newcomer")
    found = forecast(DuckReader(connection), NOW, model="m", tenant="newcomer", step_seconds=1800)
    points = found["points"]
    assert isinstance(points, list)
    medians = [point["q50"] for point in points]
    assert max(medians) > 1.5 * min(medians)
    assert "fleet" in str(found["basis"])


def test_the_backtest_tells_skill_by_lead_with_its_cost_and_a_picture() -> None:
    connection = public_store()
    daily_requests(connection, 5, "acme", 60)
    found = backtest(DuckReader(connection), NOW, model="m", step_seconds=1800, origins=3)
    json.dumps(found, allow_nan=False)
    rows = found["rows"]
    assert isinstance(rows, list)
    assert rows[-1]["lead"] == "1-24h"
    assert set(rows[-1]["coverage"]) == {"q10", "q50", "q90", "q99"}
    assert "q90" in str(found["picture"])


def test_the_backtest_knows_declared_days() -> None:
    connection = public_store()
    daily_requests(connection, 5, "acme", 60)
    launch = [Event((NOW - timedelta(days=age)).date(), factor=3.0) for age in (0, 1)]
    plain, declared = (
        backtest(DuckReader(connection), NOW, model="m", step_seconds=1800, origins=3, events=events)["rows"]
        for events in ((), launch)
    )
    assert isinstance(plain, list)
    assert isinstance(declared, list)
    losses = [rows[-1]["pinball"]["q50"] for rows in (plain, declared)]
    assert losses[1] > 2 * losses[0]  # a day that was declared x 3 and was not


def test_a_backtest_of_minutes_says_what_is_missing() -> None:
    connection = public_store()
    store_requests(connection, every(60, NOW - timedelta(hours=1), NOW))
    with pytest.raises(NotEnoughDataError, match="days of history"):
        backtest(DuckReader(connection), NOW, model="m")
