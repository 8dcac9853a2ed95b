"""Who counts as good, bad or excluded: an early Stop costs nothing, shed load never helps, missing is not good."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.slo import Objective, Threshold, default_objective, verdict, verdicts

TTFT = default_objective()
JOINT = Objective(
    "joint",
    (
        Threshold("ttft_seconds", 2.0),
        Threshold("tpot_seconds", 0.1),
        Threshold("e2e_seconds", 30.0, {"64k-256k": 90.0}),
    ),
)
AVAILABILITY = Objective("up")


@pytest.mark.parametrize("status", ["error", "timeout", "rejected"])
def test_failures_are_bad_however_fast(status: str) -> None:
    for objective in (TTFT, JOINT, AVAILABILITY):
        assert verdict(objective, status, ttft_seconds=0.1, tpot_seconds=0.01, e2e_seconds=0.2) == "bad"


@pytest.mark.parametrize("status", ["client_error", "rate_limited"])
def test_the_clients_own_faults_are_excluded(status: str) -> None:
    assert verdict(TTFT, status) == "excluded"


def test_a_client_that_stops_after_a_good_first_token_costs_nothing() -> None:
    assert verdict(TTFT, "aborted", ttft_seconds=1.0, e2e_seconds=3.0) == "good"
    assert verdict(JOINT, "aborted", ttft_seconds=1.0, e2e_seconds=3.0) == "good"


def test_a_client_that_stops_after_a_late_token_or_before_any_is_bad() -> None:
    assert verdict(TTFT, "aborted", ttft_seconds=2.5, e2e_seconds=3.0) == "bad"
    assert verdict(TTFT, "aborted", e2e_seconds=1.0) == "bad"
    assert verdict(JOINT, "aborted", ttft_seconds=1.0, tpot_seconds=0.3, e2e_seconds=3.0) == "bad"


def test_joint_goodput_needs_every_threshold() -> None:
    met = {"ttft_seconds": 2.0, "tpot_seconds": 0.1, "e2e_seconds": 30.0, "output_tokens": 200}
    assert verdict(JOINT, "ok", **met) == "good"
    for metric in ("ttft_seconds", "tpot_seconds", "e2e_seconds"):
        assert verdict(JOINT, "ok", **{**met, metric: met[metric] * 1.001}) == "bad"


def test_one_output_token_has_no_tpot_and_meets_any() -> None:
    assert verdict(JOINT, "ok", ttft_seconds=1.0, e2e_seconds=1.0, output_tokens=1) == "good"
    assert verdict(JOINT, "ok", ttft_seconds=1.0, e2e_seconds=1.0, output_tokens=None) == "excluded"


def test_a_long_prompt_has_its_own_threshold() -> None:
    long = {"ttft_seconds": 1.0, "tpot_seconds": 0.05, "e2e_seconds": 60.0, "output_tokens": 9}
    assert verdict(JOINT, "ok", **long, length_bucket="64k-256k") == "good"
    assert verdict(JOINT, "ok", **long, length_bucket="0-1k") == "bad"


def test_a_length_that_no_threshold_covers_is_outside() -> None:
    only_long = Objective("long", (Threshold("ttft_seconds", None, {"64k-256k": 60.0}),))
    assert verdict(only_long, "ok", ttft_seconds=1.0, length_bucket="0-1k") == "outside"
    assert verdict(only_long, "ok", ttft_seconds=1.0) == "outside"


def test_an_unmeasured_answer_is_excluded_not_good() -> None:
    assert verdict(TTFT, "ok", e2e_seconds=1.0) == "excluded"
    assert verdict(AVAILABILITY, "ok") == "good"


def test_shedding_load_never_raises_goodput() -> None:
    served = ["good"] * 80 + ["bad"] * 20
    shed = [verdict(TTFT, "rejected")] * 20
    kept = served[:80]
    ratio = served.count("good") / len(served)
    assert (kept + shed).count("good") / len(kept + shed) <= ratio


SECONDS = st.one_of(st.none(), st.floats(0, 5))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ok", "error", "timeout", "rejected", "aborted", "client_error", "rate_limited"]),
            SECONDS,
            st.one_of(st.none(), st.floats(0, 0.2)),
            st.one_of(st.none(), st.floats(0, 120)),
            st.one_of(st.none(), st.integers(0, 3)),
            st.sampled_from(["0-1k", "64k-256k", None]),
        ),
        max_size=20,
    )
)
def test_columns_are_judged_as_single_requests_are(rows: list[tuple[object, ...]]) -> None:
    names = ("status", "ttft_seconds", "tpot_seconds", "e2e_seconds", "output_tokens", "length_bucket")
    columns = {
        name: np.array(
            [row[place] for row in rows], dtype=object if name in ("status", "length_bucket") else np.float64
        )
        for place, name in enumerate(names)
    }
    for objective in (TTFT, JOINT, AVAILABILITY):
        single = [
            verdict(objective, str(row[0]), **dict(zip(names[1:], row[1:], strict=True)))  # type: ignore[arg-type]
            for row in rows
        ]
        assert verdicts(objective, columns).tolist() == single
