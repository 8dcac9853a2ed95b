"""The ledger knows exactly the batches that it was given, in any order, also when its runs became one row each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from collector.store.batch import HalfBatch
from collector.store.ledger import Ledger
from collector.store.store import Store
from signals.records import Identity

SEQUENCES = st.lists(st.integers(min_value=0, max_value=40), max_size=60)


@given(SEQUENCES, st.integers(min_value=0, max_value=41))
def test_it_knows_what_was_added_and_nothing_else(added: list[int], asked: int) -> None:
    ledger = Ledger()
    ledger.add(Identity("agent", "life", sequence) for sequence in added)
    assert ledger.known(Identity("agent", "life", asked)) == (asked in added)


@given(SEQUENCES)
def test_another_life_of_the_same_agent_is_another_sender(added: list[int]) -> None:
    ledger = Ledger()
    ledger.add(Identity("agent", "first", sequence) for sequence in added)
    assert not any(ledger.known(Identity("agent", "second", sequence)) for sequence in added)


@given(SEQUENCES, st.integers(min_value=0, max_value=41), st.integers(min_value=0, max_value=41))
def test_timed_senders_are_forgotten_before_a_time_and_no_others(added: list[int], before: int, asked: int) -> None:
    ledger = Ledger()
    ledger.add(Identity(name, "shape", 2 * sequence) for name in ("remote-write/a:1", "agent") for sequence in added)
    ledger.forget_timed(2 * before)
    assert ledger.known(Identity("agent", "shape", 2 * asked)) == (asked in added)
    assert ledger.known(Identity("remote-write/a:1", "shape", 2 * asked)) == (asked in added and asked >= before)


def test_runs_become_one_row_each_and_stay_known_when_the_store_is_opened_again(tmp_path: Path) -> None:
    numbers = [1, 2, 3, 5, 6, 9]
    later = datetime.now(UTC) + timedelta(hours=1)

    def sent(store: Store, *sequences: int) -> list[bool]:
        return store.commit([HalfBatch(Identity("agent", "life", sequence), ()) for sequence in sequences])

    def rows(store: Store) -> list[tuple[object, ...]]:
        found = "select sequence, upto from stored.ledger order by sequence"
        return store.cursor().execute(found).fetchall()

    with Store.open(tmp_path / "x.duckdb") as store:
        assert all(sent(store, *numbers))
        store.tidy_ledger(later, later - timedelta(days=3))
        assert rows(store) == [(1, 3), (5, 6), (9, None)]
    with Store.open(tmp_path / "x.duckdb") as store:
        assert not any(sent(store, *numbers))
        assert sent(store, 4, 7, 8) == [True] * 3
        store.tidy_ledger(later, later - timedelta(days=3))
        assert rows(store) == [(1, 9)]
    with Store.open(tmp_path / "x.duckdb") as store:
        assert sent(store, *range(11)) == [True, *[False] * 9, True]
