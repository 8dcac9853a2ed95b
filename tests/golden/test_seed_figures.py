"""Holds every planner at its defaults to the figures that the reference designs print."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from analytics.planners import get, names
from analytics.planners.settings import plain_inputs

FIGURES = json.loads((Path(__file__).parent / "seed_figures.json").read_text(encoding="utf-8"))


def _leaves(table: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    if isinstance(table, dict):
        for key, value in table.items():
            yield from _leaves(value, (*path, key))
    else:
        yield path, table


def _found(planner: str, path: tuple[str, ...]) -> object:
    value = get(planner).plan().value(path[0])
    for key in path[1:]:
        assert isinstance(value, dict)
        value = value[key]
    return value


STEPS = [(planner, path, value) for planner in FIGURES for path, value in _leaves(FIGURES[planner]["steps"])]


def test_every_planner_has_figures() -> None:
    assert set(names()) == set(FIGURES)


@pytest.mark.parametrize(("planner", "path", "figure"), STEPS, ids=[f"{p}.{'.'.join(k)}" for p, k, _ in STEPS])
def test_defaults_reproduce_the_printed_figure(planner: str, path: tuple[str, ...], figure: float | bool) -> None:
    found = _found(planner, path)
    if isinstance(figure, bool):
        assert found is figure
    elif "decimals" in FIGURES[planner]:
        assert round(float(str(found)), FIGURES[planner]["decimals"]) == figure
    else:
        assert found == pytest.approx(figure, rel=1e-4)


@pytest.mark.parametrize("planner", list(FIGURES))
def test_default_inputs_are_those_of_the_reference_design(planner: str) -> None:
    inputs = plain_inputs(get(planner).read({}))
    expected = FIGURES[planner]["inputs"]
    assert {key: inputs[key] for key in expected} == expected


def test_the_shared_figures_are_the_same_where_they_are_at_hand() -> None:
    shared = Path(__file__).parents[2].parent / "shared" / "reference" / "seed_figures.json"
    if not shared.is_file():
        pytest.skip("the shared reference figures are not beside this checkout")
    theirs = json.loads(shared.read_text(encoding="utf-8"))
    for planner, figures in theirs.items():
        assert FIGURES[planner]["steps"] == figures["steps"]
        assert FIGURES[planner]["inputs"] == figures["inputs"]


@pytest.mark.parametrize("planner", list(FIGURES))
def test_the_reference_inputs_given_as_they_are_give_the_same_plan(planner: str) -> None:
    assert get(planner).plan(FIGURES[planner]["inputs"]) == get(planner).plan()
