"""Numbers come as numbers or as text; what is none is missing, never 0."""

from __future__ import annotations

import pytest

from signals.numbers import number, whole


@pytest.mark.parametrize(
    ("value", "expected"),
    [(2, 2.0), ("2.5", 2.5), (" 3 ", 3.0), (True, None), ("", None), ("many", None), ("inf", None), (None, None)],
)
def test_a_field_is_a_finite_number_or_missing(value: object, expected: float | None) -> None:
    assert number({"field": value}, "field") == expected


def test_the_first_name_that_holds_a_number_is_taken() -> None:
    assert number({"old": "nan", "new": 7}, "none", "old", "new") == 7.0


def test_a_count_is_whole_and_never_below_zero() -> None:
    assert whole({"tokens": "12.0"}, "tokens") == 12
    assert whole({"tokens": -1}, "tokens") is None
