"""The frontier as SVG: well-formed, one mark and one label per policy, nothing on top of another."""

from __future__ import annotations

import re
from itertools import pairwise
from xml.etree import ElementTree as ET

from collector.answers.replay_chart import frontier_svg

SPACE = "{http://www.w3.org/2000/svg}"


def answer(*rows: tuple[str, float | None, float | None], front: tuple[str, ...] = ()) -> dict[str, object]:
    named = [{"policy": name, "good_ratio": good, "gpu_hours": hours} for name, good, hours in rows]
    return {"rows": named, "front": list(front), "objective": {"target": 0.99}, "requests": 10_000}


def labels(drawn: str) -> dict[str, tuple[float, float]]:
    texts = ET.fromstring(drawn).iter(f"{SPACE}text")
    return {str(one.text): (float(one.attrib["x"]), float(one.attrib["y"])) for one in texts}


def test_cheaper_stands_left_and_better_stands_above() -> None:
    found = labels(frontier_svg(answer(("a", 0.999, 100.0), ("b", 0.9, 1000.0), front=("a",))))
    assert found["a"][0] < found["b"][0]
    assert found["a"][1] < found["b"][1]
    assert {"90%", "99%", "99.9%", "GPU-hours", "100", "1000"} <= set(found)


def test_the_front_is_joined_and_the_oracle_is_a_square() -> None:
    drawn = frontier_svg(answer(("oracle", 0.99, 50.0), ("a", 0.99, 60.0), ("b", 0.999, 90.0), front=("a", "b")))
    tree = ET.fromstring(drawn)
    assert len(list(tree.iter(f"{SPACE}polyline"))) == 1
    assert len(list(tree.iter(f"{SPACE}circle"))) == 2
    assert len(list(tree.iter(f"{SPACE}rect"))) == 2  # the sheet and the oracle


def test_labels_of_policies_at_one_place_do_not_cover_each_other() -> None:
    found = labels(frontier_svg(answer(*((name, 0.99, 50.0) for name in "abc"))))
    heights = sorted(found[name][1] for name in "abc")
    assert min(b - a for a, b in pairwise(heights)) >= 15


def test_unknown_figures_are_left_out_and_none_at_all_is_still_a_picture() -> None:
    assert "nobody" not in frontier_svg(answer(("nobody", None, 5.0), ("a", 1.0, 5.0)))
    ET.fromstring(frontier_svg(answer()))


def test_names_are_escaped() -> None:
    drawn = frontier_svg(answer(("a<b&c", 0.99, 50.0)))
    assert re.search("a&lt;b&amp;c", drawn)
    assert "a<b&c" in labels(drawn)
