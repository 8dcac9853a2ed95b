"""The view cost_per_mtoken multiplies instance hours by the price in force then; without a price it says nothing."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from collector.store.batch import TableBatch
from collector.store.store import Store
from signals.records import Identity

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def store() -> Store:
    opened = Store.open(None)
    table = pa.table(
        {
            "ts": [NOON + timedelta(minutes=i) for i in range(60)],
            "interval_seconds": [60.0] * 60,
            "instance": ["i"] * 60,
            "model": ["m"] * 60,
            "pool": ["p"] * 60,
            "prompt_tokens": [9_000.0] * 60,
            "generation_tokens": [1_000.0] * 60,
        }
    )
    opened.commit([TableBatch(Identity("import", "f", 0), "engine_samples", table)])
    return opened


def ask(store: Store) -> list[tuple[object, ...]]:
    query = "select gpu_hours, usd, usd_per_million_output_tokens, usd_per_million_tokens from cost_per_mtoken"
    return store.cursor().execute(query).fetchall()


def test_without_a_price_money_is_unknown_and_hours_are_not(store: Store) -> None:
    assert ask(store) == [(1.0, None, None, None)]


def test_the_price_in_force_counts_and_the_pools_gpus_multiply_it(store: Store) -> None:
    rows = [
        {"pool": "p", "gpus_per_instance": 8, "usd_per_gpu_hour": 3.0, "since": NOON - timedelta(days=90)},
        {"pool": "p", "gpus_per_instance": 8, "usd_per_gpu_hour": 2.0, "since": NOON - timedelta(days=9)},
        {"pool": "p", "gpus_per_instance": 8, "usd_per_gpu_hour": 9.0, "since": NOON + timedelta(days=9)},
        {"pool": "other", "gpus_per_instance": 8, "usd_per_gpu_hour": 7.0, "since": NOON - timedelta(days=1)},
    ]
    store.append("prices", rows)
    [(hours, usd, per_output, per_token)] = ask(store)
    assert (hours, usd) == (8.0, 16.0)
    assert per_output == pytest.approx(16.0 / 0.06)
    assert per_token == pytest.approx(16.0 / 0.6)
