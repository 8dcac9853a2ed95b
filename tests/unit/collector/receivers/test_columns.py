"""The layout decoder says what the general decoder says, of every body, and the store keeps the same rows of both."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.encode import Encoder, seal
from collector.receivers.checks import check_batch
from collector.receivers.columns import ColumnDecoder, message_at, scrapes_of
from collector.receivers.decode import decode_resource
from collector.store.store import Store
from signals.errors import InputError, PayloadError
from signals.records import Scrape
from tests.support.scrapes import T0, busy, scrapes


def body_of(found: Iterable[Scrape]) -> bytes:
    encoder = Encoder()
    return seal((encoder.scrape(scrape) for scrape in found), T0)


def by_general_path(body: bytes) -> list[str]:
    """Return what the general decoder reads of each message, or why it refuses it."""
    from collector.receivers.layout import parts_of

    found = []
    for part in parts_of(body):
        try:
            batch = decode_resource(message_at(body, part))
            check_batch(batch)
            found.append(repr(batch))
        except (InputError, ValueError, TypeError, LookupError, ArithmeticError):
            found.append("refused")
    return sorted(found)


def by_both(decoder: ColumnDecoder, body: bytes) -> tuple[list[str], int]:
    """Return what the layout decoder reads, the rest by the general one, and how many it read itself."""
    split = decoder.decode(body)
    found = [repr(scrape) for batch in split.batches for scrape in scrapes_of(batch)]
    for part in split.others:
        try:
            batch = decode_resource(message_at(body, part))
            check_batch(batch)
            found.append(repr(batch))
        except (InputError, ValueError, TypeError, LookupError, ArithmeticError):
            found.append("refused")
    return sorted(found), split.fast


DECODER = ColumnDecoder()


@settings(max_examples=60, deadline=None)
@given(scrapes())
def test_both_paths_read_the_same_scrapes(found: list[Scrape]) -> None:
    body = body_of(found)
    for _ in range(2):
        assert by_both(DECODER, body)[0] == by_general_path(body)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 4), st.integers(0, 10_000), st.integers(0, 255))
def test_a_changed_byte_is_read_the_same_or_refused_by_both(count: int, place: int, value: int) -> None:
    body = bytearray(body_of(busy(number) for number in range(count)))
    by_both(DECODER, bytes(body))
    body[place % len(body)] = value
    try:
        fast = by_both(DECODER, bytes(body))[0]
    except PayloadError:
        with pytest.raises(PayloadError):
            by_general_path(bytes(body))
        return
    assert fast == by_general_path(bytes(body))


def test_busy_engines_take_the_fast_path() -> None:
    decoder = ColumnDecoder()
    body = body_of(busy(number, f"engine-{number % 5}") for number in range(20))
    assert by_both(decoder, body)[1] == 20


def test_failed_scrapes_take_the_general_path() -> None:
    failed = replace(busy(1), state="failed", increments=(), last_groups=(("m", "both"),), error="refused")
    split = ColumnDecoder().decode(body_of([failed, busy(2)]))
    assert (len(split.others), split.fast) == (1, 1)


def test_a_time_before_2000_is_left_to_the_general_path_and_refused_there() -> None:
    decoder = ColumnDecoder()
    decoder.decode(body_of([busy(1)]))
    split = decoder.decode(body_of([replace(busy(2), time_ns=5, start_ns=None)]))
    assert (len(split.others), split.fast) == (1, 0)


@pytest.mark.parametrize("body", [b"\x0a\xff", b"\x0a\x05abc", b"\xff" * 40, b"\x0b"])
def test_a_damaged_body_is_a_payload_error(body: bytes) -> None:
    with pytest.raises(PayloadError):
        ColumnDecoder().decode(body)


TABLES = ("engine_samples", "engine_bins", "signal_samples", "instances")


def rows_of(store: Store) -> dict[str, list[str]]:
    with store.cursor() as cursor:
        return {
            table: sorted(map(repr, cursor.sql(f"select * from {table}").to_arrow_table().to_pylist()))
            for table in TABLES
        }


@settings(max_examples=4, deadline=None)
@given(scrapes())
def test_the_store_keeps_the_same_rows_of_columns_and_of_records(found: list[Scrape]) -> None:
    split = ColumnDecoder().decode(body_of(found))
    with Store.open(None) as as_columns, Store.open(None) as as_records:
        as_columns.commit(split.batches)
        as_records.commit([scrape for batch in split.batches for scrape in scrapes_of(batch)])
        assert rows_of(as_columns) == rows_of(as_records)


def test_columns_that_are_sent_twice_are_stored_once() -> None:
    split = ColumnDecoder().decode(body_of([busy(1), busy(2)]))
    more = ColumnDecoder().decode(body_of([busy(2), busy(3)]))
    with Store.open(None) as store:
        assert store.commit(split.batches) == [True]
        assert store.commit(split.batches) == [False]
        assert store.commit(more.batches) == [True]
        with store.cursor() as cursor:
            assert cursor.execute("select count(*), count(distinct ts) from engine_samples").fetchone() == (3, 3)


def test_rows_can_be_picked() -> None:
    (batch,) = ColumnDecoder().decode(body_of(busy(number) for number in range(4))).batches
    assert np.array_equal(batch.take([1, 3]).sequences, [1, 3])
    assert scrapes_of(batch.take([2])) == [scrapes_of(batch)[2]]
