"""Every signal of the catalog has a panel, and no panel names what does not exist."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from analytics.slo import default_objective
from collector.answers.export_grafana import PREFIX, export_grafana, series_name
from collector.answers.export_rules import BAD_SERIES, GOOD_SERIES, export_rules
from collector.answers.objective_files import load_objectives
from signals.catalog import SIGNALS

OBJECTIVES = (default_objective(), *load_objectives(Path(__file__).parents[4] / "sample_data" / "objectives"))
DASHBOARDS = export_grafana(OBJECTIVES)
PANELS = [panel for board in DASHBOARDS.values() for panel in board["panels"] if panel["type"] != "row"]  # type: ignore[attr-defined]


def expressions() -> list[str]:
    return [target["expr"] for panel in PANELS for target in panel["targets"]]


def test_every_signal_has_a_panel_with_its_help() -> None:
    told = {panel["description"] for panel in PANELS}
    for signal in SIGNALS.values():
        assert any(re.search(rf"\b{series_name(signal)}\b", text) for text in expressions()), signal.name
        assert signal.help in told


def test_no_panel_asks_for_a_series_that_nothing_names() -> None:
    rules = yaml.safe_load(export_rules(OBJECTIVES))["groups"]
    recorded = {rule["record"] for group in rules for rule in group["rules"] if "record" in rule}
    known = {series_name(signal) for signal in SIGNALS.values()} | recorded | {GOOD_SERIES, BAD_SERIES}
    for text in expressions():
        asked = set(re.findall(rf"\b(?:{PREFIX}\w+|sloscope:[\w:]+)", re.sub(r'"[^"]*"', "", text)))
        assert asked <= known


def test_every_objective_has_its_target_and_factors_as_lines() -> None:
    (panel,) = (
        panel
        for panel in DASHBOARDS["sloscope-objectives.json"]["panels"][:4]  # type: ignore[index]
        if panel["title"] == "Burn rate"
    )
    lines = [step["value"] for step in panel["fieldConfig"]["defaults"]["thresholds"]["steps"][1:]]
    assert lines == pytest.approx([14 / 15, 2.8, 5.6, 13.44])


@pytest.mark.parametrize("name", list(DASHBOARDS))
def test_panels_do_not_overlap_and_have_ids_of_their_own(name: str) -> None:
    panels = DASHBOARDS[name]["panels"]
    assert isinstance(panels, list)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken
        taken |= cells
    assert len({panel["id"] for panel in panels}) == len(panels)
    assert max(x for x, _ in taken) < 24


def test_dashboards_are_json_and_histograms_are_never_interpolated() -> None:
    text = json.dumps(DASHBOARDS)
    assert "histogram_quantile" not in text
    assert {panel["type"] for panel in PANELS} == {"timeseries", "heatmap"}
