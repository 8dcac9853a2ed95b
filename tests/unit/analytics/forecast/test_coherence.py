"""Parts sum to the whole, and who is surer moves less."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from analytics.forecast import coherent
from analytics.forecast.borrowed import with_borrowed_past
from analytics.forecast.coherence import moved_bands

amounts = arrays.arrays(np.float64, (3, 4), elements=st.floats(0, 1e6))


@given(parts=amounts, widths=amounts, whole=arrays.arrays(np.float64, 4, elements=st.floats(0, 1e6)))
def test_parts_sum_to_the_whole_and_none_is_negative(parts: np.ndarray, widths: np.ndarray, whole: np.ndarray) -> None:
    total, agreed = coherent(whole, parts, np.ones(4), widths)
    assert agreed.sum(axis=0) == pytest.approx(total)
    assert (agreed >= 0).all()


def test_the_surer_part_moves_less_and_a_sure_whole_stays() -> None:
    whole, parts = np.array([12.0]), np.array([[5.0], [5.0]])
    total, agreed = coherent(whole, parts, np.zeros(1), np.array([[1.0], [3.0]]))
    assert total == pytest.approx(12.0)
    assert agreed[:, 0] == pytest.approx([5.2, 6.8])


def test_bands_go_along_with_their_median() -> None:
    bands = np.array([[1.0, 2.0, 4.0]])
    assert moved_bands(bands, np.array([2.0]), np.array([3.0])) == pytest.approx(np.array([[1.5, 3.0, 6.0]]))


def test_a_new_tenant_gets_the_fleets_past_at_its_own_level() -> None:
    fleet = np.array([10.0, 20.0, 30.0, 40.0, 50.0, 60.0])
    own = np.array([np.nan, np.nan, np.nan, 4.0, 5.0, 6.0])
    assert with_borrowed_past(own, fleet) == pytest.approx(fleet / 10)


def test_without_overlap_nothing_is_borrowed() -> None:
    own = np.array([np.nan, np.nan, 4.0])
    assert np.array_equal(with_borrowed_past(own, np.ones(3)), own, equal_nan=True)
