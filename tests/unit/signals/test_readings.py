"""Two successive pages become what happened in between, and nothing else."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signals.dialects.form import COUNTER, GAUGE, HISTOGRAM, Dialect, Rule
from signals.dialects.reader import PageReader
from signals.pages import PageParser
from signals.readings import FROZEN_AFTER_SCRAPES, MAX_ABSENT, Increments, PageReading, State, advance

TOY = Dialect(
    engine="toy",
    title="Toy",
    prefixes=("toy_",),
    rules=(
        Rule("running", ("toy_running",), GAUGE),
        Rule("prompt_tokens", ("toy_tokens",), COUNTER),
        Rule("finished_by_reason", ("toy_done",), COUNTER, by={"reason": "reason"}),
        Rule("http_requests", ("http_requests",), COUNTER),
        Rule("ttft_seconds", ("toy_ttft",), HISTOGRAM, count_as="first_tokens", sum_as="queue_seconds_sum"),
    ),
    model_labels=("model",),
)


def page(text: str) -> PageReading:
    declared = (
        "# TYPE toy_tokens counter\n# TYPE toy_done counter\n# TYPE toy_ttft histogram\n# TYPE toy_running gauge\n"
    )
    return PageReader(TOY, "m").read(PageParser().parse(declared + text))


def between(*texts: str) -> list[Increments]:
    state: State | None = None
    found: list[Increments] = []
    for text in texts:
        state, increments = advance(state, page(text))
        found.append(increments[0])
    return found


def tokens(increments: Increments) -> float:
    return increments.counters[("prompt_tokens", ())]


def test_the_first_reading_contributes_nothing() -> None:
    (first,) = between("toy_tokens 1000\n")
    assert first.counters == {}
    assert first.histograms == ()
    assert not first.moved


def test_a_counter_contributes_its_increase() -> None:
    assert tokens(between("toy_tokens 1000\n", "toy_tokens 1007\n")[-1]) == 7


def test_a_counter_that_fell_contributes_its_whole_value() -> None:
    last = between("toy_tokens 1000\n", "toy_tokens 12\n")[-1]
    assert tokens(last) == 12
    assert last.resets == 1


def test_a_reset_is_detected_series_by_series() -> None:
    last = between(
        'toy_tokens{rank="0"} 100\ntoy_tokens{rank="1"} 10\n', 'toy_tokens{rank="0"} 5\ntoy_tokens{rank="1"} 200\n'
    )[-1]
    assert tokens(last) == 5 + 190


def test_a_restart_seen_by_the_process_start_time_counts_even_what_grew_beyond_the_old_value() -> None:
    last = between(
        "process_start_time_seconds 1000\ntoy_tokens 100\n", "process_start_time_seconds 2000\ntoy_tokens 150\n"
    )[-1]
    assert tokens(last) == 150


def test_a_start_time_that_jitters_below_a_second_is_no_restart() -> None:
    last = between(
        "process_start_time_seconds 1000.0\ntoy_tokens 100\n", "process_start_time_seconds 1000.6\ntoy_tokens 150\n"
    )[-1]
    assert tokens(last) == 50


def test_a_series_that_appears_on_a_known_target_was_absent_because_it_was_zero() -> None:
    last = between('toy_done{reason="stop"} 5\n', 'toy_done{reason="stop"} 5\ntoy_done{reason="abort"} 2\n')[-1]
    assert last.counters[("finished_by_reason", (("reason", "abort"),))] == 2


def test_a_series_that_vanishes_and_comes_back_contributes_only_what_is_new() -> None:
    last = between('toy_tokens{t="a"} 5\n', "toy_running 0\n", 'toy_tokens{t="a"} 9\n')[-1]
    assert tokens(last) == 4


def test_a_series_that_comes_back_from_zero_is_a_reset() -> None:
    last = between('toy_tokens{t="a"} 50\n', "toy_running 0\n", 'toy_tokens{t="a"} 9\n')[-1]
    assert tokens(last) == 9


def test_the_memory_of_vanished_series_is_bounded() -> None:
    many = page("".join(f'toy_tokens{{t="{k}"}} 1\n' for k in range(50)))
    state, _ = advance(None, many)
    state = replace(state, absent={f"gone {k}": 1.0 for k in range(MAX_ABSENT)})
    state, _ = advance(state, page("toy_running 0\n"))
    assert len(state.absent) == MAX_ABSENT


def test_a_page_that_only_now_names_its_model_does_not_count_again() -> None:
    state, _ = advance(None, page("toy_tokens 100\n"))
    named = page("toy_tokens 130\n" + 'toy_running{model="real"} 1\n')
    assert named.readings[0].shape.model == "real"
    _, found = advance(state, named)
    assert tokens(found[0]) == 30


def test_nan_is_missing_and_does_not_poison_the_next_reading() -> None:
    found = between("toy_tokens 100\n", "toy_tokens NaN\n", "toy_tokens 130\n")
    assert [tokens(increment) for increment in found[1:]] == [0, 30]


def test_a_counter_that_was_nan_at_first_contributes_nothing_when_it_becomes_a_number() -> None:
    found = between("toy_tokens NaN\n", "toy_tokens 130\n", "toy_tokens 131\n")
    assert [tokens(increment) for increment in found[1:]] == [0, 1]


@pytest.mark.parametrize("sentinel", ["-1", "NaN", "+Inf"])
def test_a_sentinel_in_a_counter_is_missing_and_never_a_reset(sentinel: str) -> None:
    found = between("toy_tokens 100\n", f"toy_tokens {sentinel}\n", "toy_tokens 130\n")
    assert [(tokens(increment), increment.resets) for increment in found[1:]] == [(0, 0), (30, 0)]
    found = between(f"toy_tokens {sentinel}\n", "toy_tokens 130\n")
    assert tokens(found[-1]) == 0


@given(st.lists(st.integers(min_value=0, max_value=10**9), min_size=2, max_size=12))
@settings(max_examples=80, derandomize=True)
def test_increments_add_up_to_every_rise_and_to_the_value_after_every_fall(values: list[int]) -> None:
    found = between(*[f"toy_tokens {value}\n" for value in values])
    expected = sum(b - a if b >= a else b for a, b in itertools.pairwise(values))
    assert sum(tokens(increment) for increment in found[1:]) == expected


def test_a_histogram_contributes_observations_between_its_own_edges() -> None:
    def shown(low: int, middle: int, top: int, total: float) -> str:
        return (
            f'toy_ttft_bucket{{le="0.1"}} {low}\ntoy_ttft_bucket{{le="1"}} {middle}\n'
            f'toy_ttft_bucket{{le="+Inf"}} {top}\ntoy_ttft_sum {total}\ntoy_ttft_count {top}\n'
        )

    last = between(shown(1, 2, 3, 5.0), shown(2, 5, 9, 11.5))[-1]
    (histogram,) = last.histograms
    assert histogram.edges == (0.1, 1.0)
    assert histogram.counts == (1, 2, 3)
    assert (histogram.sum, histogram.count) == (6.5, 6)
    assert last.counters[("first_tokens", ())] == 6
    assert last.counters[("queue_seconds_sum", ())] == 6.5


def test_instances_with_unequal_edges_stay_apart() -> None:
    text = (
        'toy_ttft_bucket{rank="0",le="1"} 1\ntoy_ttft_bucket{rank="0",le="+Inf"} 2\n'
        'toy_ttft_bucket{rank="1",le="2"} 3\ntoy_ttft_bucket{rank="1",le="+Inf"} 4\n'
    )
    last = between("toy_running 0\n", text)[-1]
    assert {(h.edges, h.counts) for h in last.histograms} == {((1.0,), (1, 1)), ((2.0,), (3, 1))}


def frozen(*texts: str) -> list[bool]:
    state: State | None = None
    seen = []
    for text in texts:
        state, _ = advance(state, page(text))
        seen.append(state.frozen)
    return seen


def test_gauges_are_frozen_when_nothing_moved_for_three_scrapes_while_requests_run() -> None:
    still = "toy_running 106\ntoy_tokens 500\n"
    assert frozen(*[still] * (FROZEN_AFTER_SCRAPES + 1)) == [False] * FROZEN_AFTER_SCRAPES + [True]


def test_an_idle_engine_is_not_frozen() -> None:
    assert frozen(*["toy_running 0\ntoy_tokens 500\n"] * 8) == [False] * 8


def test_one_counter_that_moves_thaws_the_gauges() -> None:
    still = "toy_running 1\ntoy_tokens 500\n"
    assert frozen(*[still] * 4, "toy_running 1\ntoy_tokens 501\n")[-2:] == [True, False]


def test_answers_of_the_http_server_do_not_thaw_a_dead_loop() -> None:
    texts = [f"toy_running 1\ntoy_tokens 500\nhttp_requests {k}\n" for k in range(5)]
    assert frozen(*texts)[-1]


@pytest.mark.parametrize("value", ["NaN", "+Inf"])
def test_a_gauge_that_is_no_number_is_missing(value: str) -> None:
    assert page(f"toy_running {value}\n").readings[0].gauges[("running", ())] is None
