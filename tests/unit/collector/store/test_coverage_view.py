"""The view `coverage` sets beside each other what was recorded and counted in the same minute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from collector.store.batch import TableBatch
from collector.store.store import Store
from signals.records import Identity

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
COVERAGE = (
    "select cast(date_diff('minute', $noon, ts) as integer), recorded, counted, coverage from coverage order by 1"
)


@pytest.fixture
def store() -> Iterator[Store]:
    with Store.open(None) as opened:
        yield opened


def at(second: float) -> datetime:
    return NOON + timedelta(seconds=second)


def add(store: Store, view: str, **columns: object) -> None:
    store.commit([TableBatch(Identity(view, "f", 0), view, pa.table(columns))])


def samples(store: Store, *scrapes: tuple[float, float | None, float | None]) -> None:
    times, intervals, finished = zip(*scrapes, strict=True)
    add(store, "engine_samples", ts=[at(second) for second in times], instance=["a"] * len(times),
        model=["m"] * len(times), interval_seconds=pa.array(intervals, pa.float64()),
        finished=pa.array(finished, pa.float64()))  # fmt: skip


def requests(store: Store, *finished: float) -> None:
    add(store, "requests", ts=[at(second - 1) for second in finished], finished_at=[at(s) for s in finished],
        model=["m"] * len(finished), status=["ok"] * len(finished))  # fmt: skip


def found(store: Store) -> list[tuple[object, ...]]:
    return store.cursor().execute(COVERAGE, {"noon": NOON}).fetchall()


def test_a_scrape_at_the_edge_of_a_minute_counts_what_happened_before_it(store: Store) -> None:
    samples(store, (0, None, None), (30, 30, 1), (60, 30, 2), (90, 30, 1), (120, 30, 0))
    requests(store, 10, 40, 59.9, 75)
    assert found(store) == [(0, 3, 3.0, 1.0), (1, 1, 1.0, 1.0)]


def test_a_scrape_just_after_the_edge_belongs_where_most_of_its_time_lies(store: Store) -> None:
    samples(store, (46, 15, 1), (61, 15, 1), (76, 15, 1))
    requests(store, 40, 55, 70)
    assert found(store) == [(0, 2, 2.0, 1.0), (1, 1, 1.0, 1.0)]


def test_imported_counts_without_an_interval_belong_to_the_minute_before_them(store: Store) -> None:
    samples(store, (60, None, 2), (90, None, 1))
    assert found(store) == [(0, 0, 2.0, 0.0), (1, 0, 1.0, 0.0)]


def test_counted_and_not_recorded_is_no_coverage_and_an_idle_minute_has_none(store: Store) -> None:
    samples(store, (30, 30, 4), (90, 30, 0))
    assert found(store) == [(0, 0, 4.0, 0.0), (1, 0, 0.0, None)]


def test_what_was_recorded_while_nothing_was_scraped_is_not_set_beside_zero(store: Store) -> None:
    requests(store, 10)
    assert found(store) == [(0, 1, None, None)]
