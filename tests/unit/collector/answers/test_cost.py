"""Spend becomes prices per token and a bill that adds up to the cent; what nobody knows is named, not guessed."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.scaling import Pool
from analytics.slo.cost import (
    Life,
    Price,
    Spend,
    Tokens,
    TokenWeights,
    Usage,
    bill_of,
    spend_of,
    to_cents,
    usd_per_mtok,
)
from collector.answers.cost import cost, prices_of
from collector.store.reader import DuckReader
from tests.support.public_store import public_store

NOW = datetime(2026, 3, 2, tzinfo=UTC)
DAY = timedelta(days=1)


def insert(store: duckdb.DuckDBPyConnection, table: str, **row: object) -> None:
    names, marks = ", ".join(row), ", ".join("?" for _ in row)
    store.execute(f"insert into {table} ({names}) values ({marks})", list(row.values()))


def request(store: duckdb.DuckDBPyConnection, tenant: str | None, *, ttft: float = 1.0, **row: object) -> None:
    insert(
        store,
        "requests",
        **{
            "ts": NOW - timedelta(hours=3), "request_id": "r", "model": "m", "status": "ok", "source": "engine",
            "tenant": tenant, "length_bucket": "0-1k", "input_tokens": 1000, "cached_tokens": 0, "output_tokens": 100,
            "ttft_seconds": ttft, "e2e_seconds": ttft + 1, **row,
        },
    )  # fmt: skip


@pytest.fixture
def store() -> duckdb.DuckDBPyConnection:
    found = public_store()
    insert(found, "instances", instance="i", model="m", gpu_count=4, started_at=NOW - 2 * DAY)
    return found


def test_a_day_of_four_gpus_is_paid_by_the_tokens_that_they_served(store: duckdb.DuckDBPyConnection) -> None:
    request(store, "acme")
    request(store, "globex", ttft=9.0)
    found = cost(DuckReader(store), NOW, prices=(Price(2.0),))
    assert (found["gpu_hours"], found["usd"]) == (96.0, 192.0)
    assert [(line["tenant"], line["usd"]) for line in found["bill"]] == [("acme", 96.0), ("globex", 96.0)]
    (model,) = found["models"]
    assert model["usd_per_mtok"]["output"] == pytest.approx(4 * model["usd_per_mtok"]["input"])
    paid = sum(model["usd_per_mtok"][kind] * model["tokens"][kind] for kind in ("input", "cached", "output")) / 1e6
    assert paid == pytest.approx(192.0)
    assert model["usd_per_mtok_at_slo"]["input"] == pytest.approx(2 * model["usd_per_mtok"]["input"])


def test_unknown_cached_tokens_are_billed_as_input_and_told(store: duckdb.DuckDBPyConnection) -> None:
    request(store, "acme", cached_tokens=None)
    request(store, "acme", cached_tokens=400)
    found = cost(DuckReader(store), NOW, prices=(Price(1.0),))
    assert found["models"][0]["tokens"] == {"input": 1600, "cached": 400, "output": 200}
    assert found["models"][0]["good_tokens"] == {"input": 1600, "cached": 400, "output": 200}
    assert found["missing"] == ["cached tokens of 1 requests; their input is billed as uncached"]


def test_a_new_price_holds_from_its_date_on() -> None:
    life = Life("i", "m", NOW - DAY, NOW, gpus=1)
    (spend,) = spend_of([life], (Price(2.0), Price(4.0, since=NOW - timedelta(hours=6))))
    assert spend.usd == pytest.approx(18 * 2 + 6 * 4)


def test_a_price_given_twice_is_shown_once(store: duckdb.DuckDBPyConnection) -> None:
    pools = (Pool("p", "m", gpus_per_instance=4, usd_per_gpu_hour=2.0, price_since="2026-01-01"),)
    found = cost(DuckReader(store), NOW, pools=pools, prices=prices_of(pools))
    assert [(one["usd_per_gpu_hour"], one["since"]) for one in found["prices"]] == [(2.0, "2026-01-01T00:00:00Z")]
    assert found["models"][0]["usd"] == 192.0


def test_the_most_specific_price_wins_and_unpriced_hours_are_told() -> None:
    lives = [Life("a", "m", NOW - DAY, NOW, 1, gpu_type="H100"), Life("b", "m", NOW - DAY, NOW, 1, gpu_type="L40S")]
    (spend,) = spend_of(lives, (Price(3.0, gpu_type="H100"),))
    assert (spend.usd, spend.gpu_hours, spend.unpriced_gpu_hours) == (72.0, 48.0, 24.0)


def test_prefill_instances_are_paid_by_input_and_decode_instances_by_output() -> None:
    spends = (Spend("m", "prefill", 1, 10.0, 0), Spend("m", "decode", 1, 30.0, 0))
    prices = usd_per_mtok(spends, Tokens(1_000_000, 0, 2_000_000))
    assert (prices["input"], prices["output"]) == (pytest.approx(10.0), pytest.approx(15.0))


def test_without_a_price_nothing_is_guessed(store: duckdb.DuckDBPyConnection) -> None:
    request(store, "acme")
    found = cost(DuckReader(store), NOW)
    assert (found["usd"], found["bill"]) == (None, [])
    assert found["missing"] == ["price of 96.0 GPU-hours of m"]


def test_tokens_without_a_tenant_and_models_without_tokens_have_their_own_lines(
    store: duckdb.DuckDBPyConnection,
) -> None:
    insert(store, "instances", instance="j", model="idle", gpu_count=1, started_at=NOW - 2 * DAY)
    request(store, None)
    found = cost(DuckReader(store), NOW, prices=(Price(1.0),))
    assert [(line["note"], line["usd"]) for line in found["bill"]] == [
        ("served no token", 24.0),
        ("tenant unknown", 96.0),
    ]


def test_recorded_tokens_stand_beside_what_engines_counted(store: duckdb.DuckDBPyConnection) -> None:
    request(store, "acme")
    insert(
        store, "engine_samples", ts=NOW - timedelta(hours=1), instance="i", model="m", scrape_state="ok",
        interval_seconds=5.0, running=0.0, queue_depth=0.0, prompt_tokens=2000.0, generation_tokens=100.0,
    )  # fmt: skip
    found = cost(DuckReader(store), NOW, prices=(Price(1.0),))
    ratios = {row["kind"]: row["ratio"] for row in found["reconciliation"]}
    assert ratios == {"input": 0.5, "cached": None, "output": 1.0}
    assert found["models"][0]["idle_ratio"] == 1.0


def test_the_engine_half_of_a_gateway_request_is_not_billed_again(store: duckdb.DuckDBPyConnection) -> None:
    request(store, "acme", source="gateway")
    request(store, None, source="engine")
    found = cost(DuckReader(store), NOW, prices=(Price(1.0),))
    assert [line["tenant"] for line in found["bill"]] == ["acme"]


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 10**6), st.integers(0, 10**6)), max_size=20),
    st.lists(st.floats(0, 1e5), min_size=1, max_size=3),
)
def test_a_bill_always_adds_up_to_the_fleets_spend_to_the_cent(
    usage: list[tuple[str, int, int]], usd: list[float]
) -> None:
    spends = [
        Spend("ab"[place % 2], ("both", "prefill", "decode")[place], 1.0, one, 0.0) for place, one in enumerate(usd)
    ]
    usages = [Usage(model, str(place), None, Tokens(a, 0, b), Tokens()) for place, (model, a, b) in enumerate(usage)]
    lines = bill_of(spends, usages, TokenWeights(1, 0.1, 3))
    assert (
        sum(line.cents for line in lines) == round(sum(usd) * 100)
        or abs(sum(line.cents for line in lines) - sum(usd) * 100) <= 0.5 + 1e-6
    )
    assert all(line.cents >= 0 for line in lines)


@given(st.lists(st.floats(0, 1e4), max_size=50))
def test_cents_add_up_and_no_line_is_off_by_a_cent_or_more(amounts: list[float]) -> None:
    cents = to_cents(amounts)
    assert sum(cents) == round(sum(amount * 100 for amount in amounts))
    assert all(abs(cent - amount * 100) < 1 + 1e-6 for cent, amount in zip(cents, amounts, strict=True))
