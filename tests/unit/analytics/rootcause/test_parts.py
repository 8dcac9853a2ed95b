"""The small parts: mixture, change log, confidence, shifts, panels."""

from __future__ import annotations

import numpy as np
import pytest

from analytics.rootcause.changelog import align, overlap
from analytics.rootcause.confidence import Features, probability
from analytics.rootcause.facts.service import _per_position
from analytics.rootcause.form import Clause, Evidence, judge, ramp
from analytics.rootcause.leaves import leaves_of
from analytics.rootcause.mixture import split
from analytics.rootcause.panel import panel_of
from analytics.rootcause.shift import Shift, shift_of


def test_mix_and_within_add_up_to_the_rise_of_the_share() -> None:
    counts = {
        "tenant": np.array(["a", "b"], dtype=object),
        "n_before": np.array([8000, 2000]), "bad_before": np.array([80, 200]),
        "n_during": np.array([1000, 3000]), "bad_during": np.array([40, 450]),
    }  # fmt: skip
    leaves = leaves_of(counts, ["tenant"])
    mixture = split(leaves, 3600, 900)
    overall = 280 / 10_000
    assert mixture.mix + mixture.within == pytest.approx(490 - 4000 * overall, rel=0.02)
    assert mixture.mix > 0
    assert mixture.within > 0
    assert mixture.volume_ratio == pytest.approx(1.6)


def changes(*ago: float) -> dict[str, np.ndarray]:
    onset = np.datetime64("2026-03-02T13:00:00", "us")
    size = len(ago)
    return {
        "ts": np.array([onset - np.timedelta64(int(s * 1e6), "us") for s in ago]),
        "kind": np.full(size, "release", dtype=object),
        "summary": np.full(size, "v2", dtype=object),
        "model_version": np.full(size, "v2", dtype=object),
        **{name: np.full(size, None, dtype=object) for name in ("pool", "instance", "region", "tenant", "external_id")},
    }


ONSET = np.datetime64("2026-03-02T13:00:00", "us")


def test_a_change_must_precede_by_a_plausible_lag() -> None:
    assert [round(found.lag_seconds) for found in align(changes(60, 5000, -600), ONSET, {})] == [60]


def test_a_change_in_the_scope_of_the_segment_weighs_more_and_one_in_conflict_hardly() -> None:
    same = align(changes(60), ONSET, {"model_version": "v2"})[0].weight
    silent = align(changes(60), ONSET, {"tenant": "acme"})[0].weight
    other = align(changes(60), ONSET, {"model_version": "v1"})[0].weight
    assert same > silent > other
    assert overlap({}, {}) == 1.0


def test_many_changes_make_one_nearby_unremarkable() -> None:
    busy = align(changes(*range(60, 80_000, 300)), ONSET, {})
    quiet = align(changes(60, 80_000), ONSET, {})
    assert busy[0].placebo > 0.2 > quiet[0].placebo


def test_confidence_grows_with_score_and_margin() -> None:
    weak = probability(Features(0.4, 0.38, 5, 0.5, 0.5, 0.0, 0.5))
    strong = probability(Features(1.0, 0.1, 50, 1.0, 0.9, 0.0, 0.0))
    assert 0 <= weak < strong <= 1


def test_a_constant_history_does_not_make_every_move_infinite() -> None:
    found = shift_of("bytes", np.full(30, 8e9), np.full(5, 8.1e9))
    assert found is not None
    assert found.z < 1
    assert Shift("x", 0.0, 0.0).ratio == 1.0


def test_an_unknown_gate_means_cannot_tell_and_an_unknown_hint_means_nothing() -> None:
    assert judge({}, [Clause("a", None, gate=True)]).strength is None
    assert judge({}, [Clause("a", 1.0, gate=True), Clause("b", None), Clause("c", 0.5)]).strength == 0.5


def test_what_hardly_holds_is_told_as_contra() -> None:
    found = judge(
        {}, [Clause("a", 0.9, 1, Evidence("a", 1, 2, "up")), Clause("b", 0.1, 1, Evidence("b", 1, 1, "flat"))]
    )
    assert [item.signal for item in found.evidence] == ["a"]
    assert [item.signal for item in found.contra] == ["b"]


def test_ramps_run_both_ways() -> None:
    assert ramp(0.9, 0.92, 0.75) == pytest.approx(0.1176, abs=1e-3)
    assert ramp(float("inf"), 1, 2) == 1.0
    assert ramp(float("nan"), 1, 2) is None


@pytest.mark.parametrize("k", [1, 3, 7])
def test_acceptance_per_position_is_free_of_the_number_of_drafts(k: int) -> None:
    a = 0.7
    ratio = sum(a**i for i in range(1, k + 1)) / k
    assert _per_position(ratio, k) == pytest.approx(a, abs=1e-6)


def test_a_panel_keeps_gaps_and_leaves_unknown_sources_out() -> None:
    rows = {
        "step": np.array([0, 1, 3, 0]),
        "instance": np.array(["a", "a", "a", None], dtype=object),
        "running": np.array([1.0, 3.0, 8.0, 99.0]),
    }
    panel = panel_of(rows, "instance", ("running", "queue_depth"), np.array([0, 1, 2]), np.array([3]))
    shift = panel.shift("running")
    assert panel.sources == ("a",)
    assert shift is not None
    assert (shift.before, shift.during) == (2.0, 8.0)
    assert not panel.has("queue_depth")
