"""The frontier picture: a letter for each policy, capitals on the front, the oracle as a bound."""

from __future__ import annotations

from math import nan

import pytest

from analytics.replay.outcome import Outcome
from collector.answers.replay_picture import HEIGHT, WIDTH, frontier_picture


def outcome(name: str, good_ratio: float, gpu_hours: float) -> Outcome:
    return Outcome(name, good_ratio, 0, gpu_hours, 0, 0)


def test_each_policy_stands_where_its_cost_and_quality_put_it() -> None:
    table = [outcome("oracle", 0.99, 10), outcome("ours", 0.999, 100), outcome("theirs", 0.9, 1000)]
    drawn = frontier_picture(table, ["ours"], 0.99, 100_000).splitlines()
    plot = [line.split("│")[1] for line in drawn if "│" in line]
    assert len(plot) == HEIGHT
    middle = next(line for line in plot if "o" in line)
    assert plot[0].index("A") == round((WIDTH - 1) / 2)
    assert plot[-1].index("b") == WIDTH - 1
    assert middle.index("o") == 0 and middle.count("·") == WIDTH - 1
    assert drawn[-3:] == [
        "o oracle: 99.00% good, 10 GPU-hours",
        "A ours: 99.90% good, 100 GPU-hours",
        "b theirs: 90.00% good, 1000 GPU-hours",
    ]
    assert drawn[1].startswith("   99.9% │") and drawn[HEIGHT].startswith("     90% │")


def test_policies_at_the_same_place_stand_side_by_side() -> None:
    drawn = frontier_picture([outcome(name, 1.0, 5.0) for name in ("x", "y", "z")], ["x"], 0.99, 1000)
    plot = "".join(line.split("│")[1] for line in drawn.splitlines() if "│" in line)
    assert sorted(plot.replace("·", "").replace(" ", "")) == ["A", "b", "c"]


@pytest.mark.parametrize("requests", [0, 1, 10**9])
def test_extremes_are_drawn_too(requests: int) -> None:
    table = [outcome("none", 0.0, 0.0), outcome("all", 1.0, 1e6), outcome("unknown", nan, 3.0)]
    drawn = frontier_picture(table, ["all", "none"], 1.0, requests)
    assert "A none" in drawn and "B all" in drawn and "unknown" not in drawn
    assert max(len(line) for line in drawn.splitlines()[1 : HEIGHT + 3]) <= WIDTH + 10


def test_nothing_known_is_no_picture() -> None:
    assert frontier_picture([outcome("unknown", nan, nan)], [], 0.99, 10) == ""
