"""Decisions of the job hold for two rounds, and only under the orders that they were made under."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from analytics.scaling import Pin
from collector.api.decided import FRESH, Decided, Orders

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
FREE = Orders({}, False)
ANSWER = {"recommendations": [{"pool": "chat", "proposed": 3}]}


def test_a_decision_is_handed_out_while_it_is_fresh() -> None:
    board = Decided()
    assert board.newest(NOW, FREE) is None
    board.keep(NOW, FREE, ANSWER)
    assert board.newest(NOW + FRESH, FREE) == ANSWER
    assert board.newest(NOW + FRESH + timedelta(seconds=1), FREE) is None
    assert board.newest(NOW - timedelta(seconds=1), FREE) is None


def test_a_pin_or_a_freeze_makes_it_void_at_once() -> None:
    board = Decided()
    board.keep(NOW, FREE, ANSWER)
    assert board.newest(NOW, Orders({"chat": Pin(5, NOW + timedelta(hours=1), "me")}, False)) is None
    assert board.newest(NOW, Orders({}, True)) is None
