"""The planner page: sliders that hold the current value, settings as text, and a whole page without a browser."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

pytest.importorskip("streamlit")

from streamlit.testing.v1 import AppTest

from analytics.planners import get
from collector.answers.plan import plan
from dashboard.planners import slider_values, text_of


def test_stops_hold_both_ends_and_the_current_value() -> None:
    stops = slider_values(1, 1e6, 4096, whole=True)
    assert stops[0] == 1 and stops[-1] == 1e6 and 4096 in stops
    assert stops == sorted(stops)


def test_tables_and_lists_become_text_that_settings_read() -> None:
    planner = get("structured_output")
    table = {"naive": 0.001, "precompiled": 0.0001}
    inputs = planner.read({"mask_seconds_per_request": text_of(table), "batches": text_of([8, 16])})
    assert dict(inputs.mask_seconds_per_request) == table  # type: ignore[attr-defined]
    assert inputs.batches == (8, 16)  # type: ignore[attr-defined]


def _page(name: str) -> None:
    from collector.answers.plan import plan
    from dashboard.planners import planner_page

    class Local:
        def plan(self, name: str, settings: dict[str, object]) -> dict[str, object]:
            return plan(None, None, name, settings)  # type: ignore[arg-type]

    planner_page(name, Local())


@pytest.mark.parametrize("name", ["moe_service", "speculation", "multi_region"])
def test_the_page_draws_without_a_store(name: str) -> None:
    page = AppTest.from_function(_page, args=(name,), default_timeout=60).run()
    assert not page.exception
    assert any(str(plan(None, None, name, {})["headline"]) in each.value for each in page.markdown)


def test_moving_a_slider_plans_again() -> None:
    page = AppTest.from_function(_page, args=("autoscaling",), default_timeout=60).run()
    slider = page.select_slider(key="autoscaling.requests_per_second")
    slider.set_value(500.0).run()
    assert not page.exception
    settings: Mapping[str, float] = {"requests_per_second": 500.0}
    assert any(str(plan(None, None, "autoscaling", settings)["headline"]) in each.value for each in page.markdown)
