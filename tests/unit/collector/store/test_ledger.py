"""The ledger knows exactly the batches that it was given, in any order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from collector.store.ledger import Ledger
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
