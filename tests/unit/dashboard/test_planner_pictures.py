"""Every planner has a picture that draws at its defaults and at measured-like inputs."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("altair")

from analytics.planners import PLANNERS
from dashboard.planner_pictures import PICTURES


def test_every_planner_has_a_picture() -> None:
    assert set(PICTURES) == set(PLANNERS)


@pytest.mark.parametrize("name", list(PLANNERS))
def test_a_picture_names_units_on_its_axes(name: str) -> None:
    drawn = json.dumps(PICTURES[name](PLANNERS[name].plan()).to_dict())
    assert '"title"' in drawn
    assert "NaN" not in drawn
