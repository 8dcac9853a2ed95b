"""Accepted drafts: the number of drafts first, then positions exactly, then who asks; drops and suspicious rises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.rootcause.acceptance import drafting
from collector.answers.explain import explain
from collector.answers.incidents import detect
from collector.store.reader import DuckReader
from tests.unit.analytics.rootcause.incident_stories import END, MODEL, ONSET, Story


def accepted(steps: float, chances: list[float]) -> np.ndarray:
    return steps * np.cumprod(chances)


CHANCES = st.lists(st.floats(0.05, 0.99), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(CHANCES, CHANCES)
def test_effects_of_drafts_and_positions_add_up_to_the_change(old: list[float], new: list[float]) -> None:
    found = drafting((1000, 800), (1000.0 * len(old), 800.0 * len(new)), (accepted(1000, old), accepted(800, new)))
    assert found is not None
    total = found.drafts_effect + sum(position.effect for position in found.positions)
    assert total == pytest.approx(found.during - found.before, abs=1e-9)


def test_more_drafts_alone_are_no_change_of_any_position() -> None:
    found = drafting((1000, 1000), (3000, 6000), (accepted(1000, [0.7] * 3), accepted(1000, [0.7] * 6)))
    assert found is not None
    assert found.pattern == "drafts"
    assert all(position.effect == pytest.approx(0) for position in found.positions)


@pytest.mark.parametrize(
    ("new", "pattern"),
    [
        ([0.4, 0.4, 0.4], "all positions"),
        ([0.8, 0.8, 0.3], "late positions"),
        ([0.3, 0.8, 0.8], "first positions"),
        ([0.8, 0.79, 0.8], "nowhere"),
    ],
)
def test_where_in_the_draft_it_moved_is_named(new: list[float], pattern: str) -> None:
    found = drafting((1000, 1000), (3000, 3000), (accepted(1000, [0.8] * 3), accepted(1000, new)))
    assert found is not None
    assert found.pattern == pattern
    assert found.because


def test_too_few_steps_say_nothing() -> None:
    assert drafting((10, 1000), (30, 3000), (accepted(10, [0.8]), accepted(1000, [0.8]))) is None


def positions(story: Story, before: list[float], during: list[float]) -> DuckReader:
    """Store a story whose engines count accepted tokens by position."""
    connection = story.store()
    for since, chances in (("<", before), (">=", during)):
        counts = [int(250 * value) for value in np.cumprod(chances)]
        connection.execute(
            f"update engine_samples set spec_drafts = 250, spec_draft_tokens = {250 * len(chances)}, "
            f"spec_accepted_tokens = {sum(counts)}, spec_accepted_by_position = ? where ts {since} ?",
            [counts, ONSET],
        )
    return DuckReader(connection)


def test_a_drop_is_told_by_position_and_by_who_asks() -> None:
    story = Story()
    story.speculate(ratio=0.7)
    story.r["accepted"] = np.where(
        story.during & (story.r["tenant"] == "acme"), story.r["draft"] * 0.1, story.r["accepted"]
    ).astype(int)
    answer = explain(
        positions(story, [0.8] * 4, [0.5] * 4), END, model=MODEL, metric="acceptance", start=ONSET, end=END
    )
    causes = answer["causes"]
    assert isinstance(causes, list)
    assert (answer["direction"], causes[0]["cause"], causes[0]["segment"]) == (
        "drop", "acceptance_drop", {"tenant": "acme"},
    )  # fmt: skip
    parts = answer["drafting"]
    assert isinstance(parts, dict)
    assert parts["pattern"] == "all positions"
    splits = answer["splits"]
    assert isinstance(splits, list)
    by = {split["dimension"]: split for split in splits}
    assert by["tenant"]["within"] < -0.1 < by["tenant"]["mix"] + 0.05


def test_engines_counters_alone_tell_a_drop() -> None:
    story = Story()
    story.speculate(ratio=0.7)
    reader = positions(story, [0.8] * 4, [0.4] * 4)
    reader.run("update requests set spec_draft_tokens = null, spec_accepted_tokens = null")
    answer = explain(reader, END, model=MODEL, metric="acceptance", start=ONSET, end=END)
    causes = answer["causes"]
    assert isinstance(causes, list)
    assert (answer["source"], causes[0]["cause"]) == ("pages", "acceptance_drop")


def test_a_rise_with_longer_answers_is_repeated_text_and_becomes_an_incident() -> None:
    story = Story()
    story.speculate(ratio=0.55)
    story.r["output"] = np.where(story.during, story.r["output"] * 4, story.r["output"])
    story.r["accepted"] = np.where(story.during, story.r["draft"] * 0.93, story.r["accepted"]).astype(int)
    reader = positions(story, [0.75] * 4, [0.97] * 4)
    answer = explain(reader, END, model=MODEL, metric="acceptance", start=ONSET, end=END)
    causes = answer["causes"]
    assert isinstance(causes, list)
    assert (answer["direction"], causes[0]["cause"]) == ("rise", "output_tail")
    assert "acceptance" in [row["metric"] for row in detect(reader, END)]


def test_steady_acceptance_is_neither() -> None:
    story = Story()
    story.speculate()
    answer = explain(
        positions(story, [0.8] * 4, [0.8] * 4), END, model=MODEL, metric="acceptance", start=ONSET, end=END
    )
    assert answer["verdict"] == "no_significant_change"
