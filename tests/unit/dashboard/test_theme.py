"""Words for numbers: missing is a dash, an open interval is a bound, no state needs a glyph that may be missing."""

from __future__ import annotations

import doctest

import pytest

from dashboard import theme


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(theme).failed == 0


@pytest.mark.parametrize(
    "format_", [theme.seconds, theme.interval, theme.clock, theme.percent, theme.number, theme.whole]
)
def test_missing_is_a_dash(format_: object) -> None:
    assert callable(format_) and format_(None) == "–"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([17.5, None], "> 17.5 s"),
        ([None, 2.0], "< 2 s"),
        ([0.5, 1.5], "500 ms – 1.5 s"),
        ([None, None], "–"),
        ([], "–"),
    ],
)
def test_an_interval_without_an_edge_is_a_bound(value: object, text: str) -> None:
    assert theme.interval(value) == text


def test_states_and_actions_are_short_words_of_plain_letters() -> None:
    for word in (*theme.STATES.values(), *theme.ACTIONS.values()):
        assert word.isascii() and len(word) <= 12
