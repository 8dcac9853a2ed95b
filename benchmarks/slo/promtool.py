"""Runs promtool on exported rules and a series of counts; returns the minutes in which its alerts differ from ours."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt

from analytics.slo import Objective
from analytics.slo.alerting import GUARD_Z
from analytics.slo.timeline import firing_minutes
from collector.answers.export_rules import BAD_SERIES, GOOD_SERIES, export_rules
from collector.answers.windows import rules_of, window_name

_EXPRESSION = 'sum by (long_window) (ALERTS{alertname="SloscopeErrorBudgetBurn",alertstate="firing"})'


def promtool() -> str | None:
    """Return where promtool is, None where it is not installed."""
    return shutil.which("promtool")


def check_rules(objectives: tuple[Objective, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    """Return the outcome of `promtool check rules`."""
    (folder / "rules.yaml").write_text(export_rules(objectives))
    return _run("check", "rules", str(folder / "rules.yaml"))


def differing_minutes(
    objective: Objective, good: npt.NDArray[np.int64], bad: npt.NDArray[np.int64], folder: Path
) -> tuple[int, int]:
    """Return (minutes that differ, minutes in which any alert fires); the objective's model is called `m`."""
    (folder / "rules.yaml").write_text(export_rules((objective,)))
    rules = rules_of(objective)
    fires = firing_minutes(good, bad, rules, objective.target, min_events=objective.min_events, z=GUARD_Z)
    windows = [window_name(rule.long_seconds) for rule in rules]
    expected = []
    for minute in range(len(good) + 1):
        rows = [] if minute == 0 else fires[:, minute - 1].nonzero()[0].tolist()
        expected.append(
            {
                "expr": _EXPRESSION,
                "eval_time": f"{minute}m",
                "exp_samples": [{"labels": f'{{long_window="{windows[row]}"}}', "value": 1} for row in rows],
            }
        )
    labels = f'{{objective="{objective.name}",model="m"}}'
    series = [
        {"series": name + labels, "values": " ".join(map(str, np.concatenate(([0], np.cumsum(counts)))))}
        for name, counts in ((GOOD_SERIES, good), (BAD_SERIES, bad))
    ]
    test = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "1m",
        "tests": [{"interval": "1m", "input_series": series, "promql_expr_test": expected}],
    }
    (folder / "test.yaml").write_text(json.dumps(test))
    done = _run("test", "rules", str(folder / "test.yaml"))
    if done.returncode == 0:
        return 0, int(fires.any(axis=0).sum())
    wrong = set(re.findall(r"time: (\S+)", done.stdout + done.stderr))
    return max(1, len(wrong)), int(fires.any(axis=0).sum())


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = promtool()
    assert command is not None, "promtool is not installed (Debian package prometheus)"
    return subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
