"""Every known incident pattern gets its cause, and no look-alike wins."""

from __future__ import annotations

import pytest

from collector.answers.explain import explain
from collector.store.reader import DuckReader
from tests.unit.analytics.rootcause.incident_stories import END, MODEL, ONSET, Story
from tests.unit.analytics.rootcause.patterns import PATTERNS, Pattern


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: f"{pattern.number}: {pattern.name}")
def test_the_pattern_gets_its_cause_and_no_look_alike_wins(pattern: Pattern) -> None:
    story = Story()
    pattern.bend(story)
    answer = explain(DuckReader(story.store()), END, model=MODEL, metric=pattern.metric, start=ONSET, end=END)
    if pattern.cause is None:
        assert answer["verdict"] == "no_significant_change"
        return
    causes = answer["causes"]
    assert isinstance(causes, list)
    order = [cause["cause"] for cause in causes]
    assert order[0] == pattern.cause, f"{order} {answer['stage_seconds']}"
    assert order[0] not in pattern.not_causes
    assert causes[0]["evidence"], "a cause without evidence convinces nobody"
    if pattern.stage is not None:
        assert answer["stage"] == pattern.stage
