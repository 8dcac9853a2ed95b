"""An objective refuses nonsense with every fault, and its revision follows what is counted."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analytics.slo import Exclusion, Objective, Threshold, default_objective
from signals.errors import ConfigError


def test_every_fault_is_listed_with_the_nearest_name() -> None:
    with pytest.raises(ConfigError) as caught:
        Objective(
            "o",
            (Threshold("tttf_seconds", 2.0, {"64k-265k": 3.0}), Threshold("e2e_seconds")),
            target=99,
            window_seconds=60,
            only={"tennant": ("a",)},
            min_events=0,
        )
    text = "\n".join(caught.value.faults)
    assert len(caught.value.faults) == 7
    for said in ("'ttft_seconds'", "'64k-256k'", "'tenant'", "target", "window_seconds", "min_events", "has no limit"):
        assert said in text


def test_only_a_lone_ttft_counts_by_first_token() -> None:
    ttft, tpot = Threshold("ttft_seconds", 1.0), Threshold("tpot_seconds", 0.1)
    assert Objective("a", (ttft,)).clock == "first_token"
    assert [Objective("a", one).clock for one in ((tpot,), (ttft, tpot), ())] == ["finish"] * 3
    assert [Objective("a", one).metric for one in ((tpot,), (ttft, tpot), ())] == [
        "tpot_seconds",
        "goodput",
        "availability",
    ]


def test_the_revision_changes_with_what_is_counted_and_not_with_the_target() -> None:
    one = default_objective()
    assert replace(one, target=0.95, window_seconds=7 * 86_400, min_events=5).revision == one.revision
    edits = (
        replace(one, thresholds=(Threshold("ttft_seconds", 1.0),)),
        replace(one, by=("model", "tenant")),
        replace(one, only={"model": ("m",)}),
        replace(one, exclusions=(Exclusion("x", "test", "me", only={"tenant": ("t",)}),)),
    )
    assert len({one.revision, *(edit.revision for edit in edits)}) == 5
    assert 0 < one.revision < 2**31


def test_only_whole_models_take_work_that_counters_alone_know() -> None:
    assert default_objective().model_wide
    assert not replace(default_objective(), by=("model", "tenant")).model_wide
    assert not replace(default_objective(), only={"region": ("eu",)}).model_wide
