"""Charts name their unit, carry the objective's line, and keep enough labels on an axis that grows by factors."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("altair")

from dashboard import charts

ROWS = [
    {"ts": f"2026-05-01T12:00:{second:02d}.000000Z", "ttft_p50": 0.01 * second, "ttft_p99": 2.5 * second, "requests": 3}
    for second in range(30)
]


def _axis_values(chart: object) -> list[float]:
    (values,) = {
        tuple(layer["encoding"]["y"]["axis"]["values"])
        for layer in chart.to_dict()["layer"]  # type: ignore[attr-defined]
        if "axis" in layer["encoding"].get("y", {})
    }
    return list(values)


def test_a_latency_axis_has_labels_from_low_to_high() -> None:
    assert _axis_values(charts.latency(ROWS, "ttft", 2.0)) == [0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
    assert _axis_values(charts.latency(ROWS[:1], "ttft", None)) == [0.0, 0.001, 0.003, 0.01]


def test_every_value_of_a_latency_axis_is_drawn() -> None:
    axis = charts.latency(ROWS, "ttft", 2.0).to_dict()["layer"][0]["encoding"]["y"]["axis"]
    assert axis["tickCount"] >= len(axis["values"]), "Vega thins out values beyond the tick count"


def test_the_objective_is_a_line_with_its_limit() -> None:
    drawn = json.dumps(charts.latency(ROWS, "ttft", 2.0).to_dict())
    assert "objective 2 s" in drawn
    assert "objective" not in json.dumps(charts.latency(ROWS, "ttft", None).to_dict())


@pytest.mark.parametrize("rows", [ROWS, ROWS[:1]])
def test_every_chart_names_its_unit(rows: list[dict[str, object]]) -> None:
    forecast = [{"ts": row["ts"], "q10": 1, "q50": 2, "q90": 3, "q99": 4} for row in rows]
    steps = [{"stage": "queue", "start_seconds": 0.0, "seconds": 1.5}]
    for chart, unit in (
        (charts.latency(rows, "ttft", 2.0), "seconds"),
        (charts.traffic(rows, 10.0), "requests per second"),
        (charts.stages(rows), "mean seconds"),
        (charts.lines(rows, {"requests": "r"}, ["#000000"], "requests"), "requests"),
        (charts.forecast(forecast, "tokens per second"), "tokens per second"),
        (charts.timeline_of(steps), "seconds since arrival"),
    ):
        drawn = json.dumps(chart.to_dict())
        assert f'"title": "{unit}"' in drawn and "NaN" not in drawn


def test_changes_are_marked() -> None:
    change = {"ts": ROWS[3]["ts"], "kind": "release", "summary": "v2"}
    assert "v2" in json.dumps(charts.latency(ROWS, "ttft", None, [change]).to_dict())
