"""Exported rules pass promtool and fire in the minutes in which status says burning."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

from analytics.slo import BurnRule, default_objective
from benchmarks.slo import promtool as promtool_bench
from benchmarks.slo.incidents import minutes_with_incidents
from benchmarks.slo.promtool import check_rules, differing_minutes, promtool
from collector.answers.export_rules import export_rules

QUICK = replace(default_objective(), rules=(BurnRule("page", 1_800, 300, 6.0), BurnRule("ticket", 7_200, 1_200, 1.0)))
needs_promtool = pytest.mark.skipif(promtool() is None, reason="promtool (Debian package prometheus) is not installed")


def test_each_objective_is_a_group_and_a_watchdog_always_fires() -> None:
    groups = yaml.safe_load(export_rules([default_objective()]))["groups"]
    assert [group["name"] for group in groups] == ["sloscope-default-ttft", "sloscope-watchdog"]
    alerts = [rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule]
    assert alerts == ["SloscopeErrorBudgetBurn"] * 4 + ["SloscopeNoData", "SloscopeWatchdog"]


def test_the_guard_and_the_factor_are_in_the_expression() -> None:
    objective = replace(default_objective(), rules=(BurnRule("page", 3600, 300, 13.5),), min_events=77)
    (group, _) = yaml.safe_load(export_rules([objective]))["groups"]
    (alert, _) = (rule for rule in group["rules"] if "alert" in rule)
    assert ">= 77" in alert["expr"]
    assert "> 13.5" in alert["expr"]
    assert alert["labels"] == {"severity": "page", "long_window": "1h", "short_window": "5m"}


@needs_promtool
def test_promtool_accepts_the_rules_of_an_awkward_name(tmp_path: Path) -> None:
    objective = replace(default_objective(), name='it\'s "quoted" \\ {{ here }}', by=())
    done = check_rules((objective,), tmp_path)
    assert done.returncode == 0, done.stderr


@needs_promtool
def test_alerts_fire_in_exactly_the_minutes_that_promtool_finds(tmp_path: Path) -> None:
    good, bad = minutes_with_incidents(1, seed=3)
    differing, firing = differing_minutes(QUICK, good[:400], bad[:400], tmp_path)
    assert differing == 0
    assert firing > 0


@needs_promtool
def test_a_shifted_series_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good, bad = minutes_with_incidents(1, seed=3)
    right = promtool_bench.firing_minutes
    monkeypatch.setattr(
        promtool_bench,
        "firing_minutes",
        lambda good, bad, *more, **named: right(good, np.roll(bad, 20), *more, **named),
    )
    assert differing_minutes(QUICK, good[:400], bad[:400], tmp_path)[0] > 0
