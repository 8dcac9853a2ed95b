"""Quantiles of stored latencies by step and dimensions equal those of sorting, however groups are put together."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from collector.store.latency_counts import LatencyCounts
from collector.store.latency_table import latency_table
from collector.store.store import Store
from signals.bins import ALPHA
from signals.errors import ConfigError, UnknownNameError

SINCE = datetime(2026, 5, 1, tzinfo=UTC)
UNTIL = SINCE + timedelta(hours=1)
MODELS, TENANTS, LENGTHS = ("m/a", "m/b"), ("acme", None), ("0-1k", "1k-4k")


def requests(number: int = 4000) -> pa.Table:
    draw = np.random.default_rng(5)
    pick = lambda names: [names[place] for place in draw.integers(0, len(names), number)]  # noqa: E731
    return pa.table({
        "ts": pa.array(
            [SINCE + timedelta(seconds=float(s)) for s in draw.uniform(0, 3500, number)], pa.timestamp("us", "UTC")
        ),
        "ttft_seconds": np.exp(draw.normal(-1, 1, number)),
        "model": pick(MODELS),
        "tenant": pa.array(pick(TENANTS), pa.string()),
        "length_bucket": pick(LENGTHS),
    })  # fmt: skip


@pytest.fixture(scope="module")
def stored() -> Iterator[tuple[duckdb.DuckDBPyConnection, pa.Table]]:
    with Store.open(None) as store:
        table = requests()
        cursor = store.cursor()
        LatencyCounts(cursor).count(table)
        yield cursor, table
        cursor.close()


def expected(table: pa.Table, q: float, by: tuple[str, ...], step: int) -> dict[tuple[object, ...], tuple[int, float]]:
    cells: dict[tuple[object, ...], list[float]] = {}
    for row in table.to_pylist():
        first_token = row["ts"] + timedelta(seconds=row["ttft_seconds"])
        at = datetime.fromtimestamp(first_token.timestamp() // step * step, UTC)
        cells.setdefault((at, *(row[name] for name in by)), []).append(row["ttft_seconds"])
    return {
        cell: (len(values), sorted(values)[max(1, int(np.ceil(q * len(values) - 1e-9))) - 1])
        for cell, values in cells.items()
    }


@pytest.mark.parametrize("by", [(), ("model",), ("length_bucket", "tenant"), ("model", "tenant", "length_bucket")])
@pytest.mark.parametrize("step", [60, 300, 3600])
def test_every_cell_is_within_one_percent_of_sorting(
    stored: tuple[duckdb.DuckDBPyConnection, pa.Table], by: tuple[str, ...], step: int
) -> None:
    cursor, table = stored
    until = UNTIL + timedelta(hours=1)
    found = latency_table(cursor, "ttft_seconds", 0.99, SINCE, until, step_seconds=step, by=by).to_pylist()
    wanted = expected(table, 0.99, by, step)
    assert len(found) == len(wanted)
    for row in found:
        count, value = wanted[row["ts"], *(row[name] for name in by)]
        assert row["requests"] == count
        assert abs(row["value"] - value) <= ALPHA * value * (1 + 1e-9)


def test_one_model_is_that_model_alone(stored: tuple[duckdb.DuckDBPyConnection, pa.Table]) -> None:
    cursor, table = stored
    found = latency_table(cursor, "ttft_seconds", 0.5, SINCE, UNTIL, by=("tenant",), model="m/a", tenant="acme")
    wanted = sum(row["model"] == "m/a" and row["tenant"] == "acme" for row in table.to_pylist())
    assert set(found["tenant"].to_pylist()) == {"acme"}
    assert sum(found["requests"].to_pylist()) == pytest.approx(wanted, abs=5)


def test_nothing_in_the_window_is_no_row(stored: tuple[duckdb.DuckDBPyConnection, pa.Table]) -> None:
    cursor, _ = stored
    nobody = latency_table(cursor, "ttft_seconds", 0.5, SINCE, UNTIL, model="nobody")
    early = latency_table(cursor, "ttft_seconds", 0.5, SINCE - timedelta(days=2), SINCE - timedelta(days=1))
    assert (nobody.num_rows, early.num_rows) == (0, 0)
    assert nobody.column_names == ["ts", "model", "tenant", "length_bucket", "requests", "value"]


def test_what_there_is_not_is_told(stored: tuple[duckdb.DuckDBPyConnection, pa.Table]) -> None:
    cursor, _ = stored
    with pytest.raises(UnknownNameError, match="colour"):
        latency_table(cursor, "ttft_seconds", 0.5, SINCE, UNTIL, by=("colour",))
    with pytest.raises(UnknownNameError, match="latency"):
        latency_table(cursor, "colour", 0.5, SINCE, UNTIL)
    with pytest.raises(ConfigError, match="1m, 5m or 1h"):
        latency_table(cursor, "ttft_seconds", 0.5, SINCE, UNTIL, step_seconds=420)
