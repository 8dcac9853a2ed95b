"""Phases of starts: nested and parallel intervals count once, what was not told of is missing, never zero."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.scaling import cold_start
from analytics.scaling.phases import Start, covered, median_phases, phases_of


def start(*told: tuple[str, float, float], began: float = float("nan")) -> Start:
    names = [name for name, _, _ in told]
    return Start(names, np.array([b for _, b, _ in told]), np.array([e for _, _, e in told]), began)


def test_nested_spans_and_parallel_ranks_count_once() -> None:
    found = phases_of(start(("Loading (GPU)", 10, 70), ("Load model", 12, 69), ("Load model", 15, 75)))
    assert found == {"load": 65.0}


def test_compiling_is_taken_out_of_the_warm_up_around_it() -> None:
    found = phases_of(start(("Prepare model", 0, 50), ("Compile graph", 5, 25), ("Capture model", 30, 40)))
    assert found == {"compile": 30.0, "warm_up": 20.0}


def test_the_process_was_up_when_the_engine_began_its_first_span() -> None:
    assert phases_of(start(("Overall Loading", 108, 160), began=100)) == {"process_start": 8.0}
    assert phases_of(start(("Overall Loading", 98, 160), began=100)) == {}
    assert phases_of(start(("Overall Loading", 108, 160))) == {}


def test_medians_are_over_the_starts_that_tell() -> None:
    starts = [start(("load_weight", 0, seconds)) for seconds in (10, 30, 80)] + [start(("pull", 0, 5))]
    assert median_phases(starts) == {"load": 30.0, "pull": 5.0}
    assert median_phases([]) == {}


def test_a_phase_that_nobody_saw_is_none_in_the_receipt() -> None:
    phases = cold_start(np.array([90.0]), {"load": 60.0}).to_dict()["phases"]
    assert phases == {"schedule": None, "pull": None, "process_start": None, "load": 60.0, "compile": None,
                      "warm_up": None}  # fmt: skip


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), min_size=1, max_size=12))
def test_what_intervals_cover_is_the_count_of_the_seconds_in_any_of_them(pairs: list[tuple[int, int]]) -> None:
    seconds = {second for begin, length in pairs for second in range(begin, begin + length)}
    told = start(*(("load", float(begin), float(begin + length)) for begin, length in pairs))
    assert covered(told, np.ones(len(pairs), dtype=bool)) == pytest.approx(len(seconds))
