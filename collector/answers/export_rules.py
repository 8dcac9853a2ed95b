"""Writes Prometheus recording and alerting rules for objectives; evaluates none and calls no server.

The rules read two counters that this server's own metrics page carries for each objective and scope, and fire exactly
when `status` says burning: same windows, same factors, same low-traffic guard.
"""

from __future__ import annotations

from collections.abc import Iterable

import yaml

from analytics.slo import BurnRule, Objective
from analytics.slo.alerting import GUARD_Z
from collector.answers.windows import rules_of, window_name

#: Counters of good and bad events by objective and scope, and 1 where there is no data, on this server's /metrics.
GOOD_SERIES = "sloscope_objective_good_total"
BAD_SERIES = "sloscope_objective_bad_total"
BLIND_SERIES = "sloscope_objective_blind"
#: A server that says nothing for this long is a fault of its own.
SILENCE = "10m"


def export_rules(objectives: Iterable[Objective]) -> str:
    """Return a Prometheus rule file: one group per objective, and a watchdog that always fires."""
    groups = [_group(objective) for objective in objectives]
    groups.append({"name": "sloscope-watchdog", "rules": [_watchdog()]})
    text: str = yaml.safe_dump({"groups": groups}, sort_keys=False, width=110, allow_unicode=True)
    return text


def _group(objective: Objective) -> dict[str, object]:
    rules = rules_of(objective)
    windows = sorted({seconds for rule in rules for seconds in (rule.long_seconds, rule.short_seconds)})
    records = [record for seconds in windows for record in _records(objective, seconds)]
    alerts = [_alert(objective, rule) for rule in rules]
    return {"name": f"sloscope-{objective.name}", "rules": [*records, *alerts, _no_data(objective)]}


def _records(objective: Objective, seconds: int) -> list[dict[str, object]]:
    window = window_name(seconds)
    chosen = f'{{objective="{_quoted(objective.name)}"}}'
    by = ", ".join(("objective", *objective.by))
    bad = f"sum by ({by}) (increase({BAD_SERIES}{chosen}[{window}]))"
    good = f"sum by ({by}) (increase({GOOD_SERIES}{chosen}[{window}]))"
    events, spoilt, ratio = (recorded_name(kind, seconds) for kind in ("events", "bad", "bad_ratio"))
    return [
        {"record": spoilt, "expr": bad},
        {"record": events, "expr": f"{good} + {spoilt}{chosen}"},
        {"record": ratio, "expr": f"{spoilt}{chosen} / ({events}{chosen} > 0)"},
    ]


def _alert(objective: Objective, rule: BurnRule) -> dict[str, object]:
    chosen = f'{{objective="{_quoted(objective.name)}"}}'
    allowed = repr(1 - objective.target)
    factor = repr(float(rule.factor))
    ratio, events = (recorded_name(kind, rule.long_seconds) + chosen for kind in ("bad_ratio", "events"))
    quick = recorded_name("bad_ratio", rule.short_seconds) + chosen
    square = repr(GUARD_Z * GUARD_Z)
    scale = f"(1 + {square} / {events})"
    middle = f"({ratio} + {square} / (2 * {events})) / {scale}"
    half = f"{GUARD_Z} * sqrt({ratio} * (1 - {ratio}) / {events} + {square} / (4 * {events} * {events})) / {scale}"
    expression = "\nand ".join(
        (
            f"{ratio} / {allowed} > {factor}",
            f"{quick} / {allowed} > {factor}",
            f"{events} >= {objective.min_events}",
            f"clamp_min({middle} - {half}, 0) / {allowed} > {factor}",
        )
    )
    name, long, short = (
        _literal(objective.name),
        window_name(rule.long_seconds),
        window_name(rule.short_seconds),
    )
    return {
        "alert": "SloscopeErrorBudgetBurn",
        "expr": expression,
        "labels": {"severity": rule.severity, "long_window": long, "short_window": short},
        "annotations": {
            "summary": f"{name}: budget burns over {rule.factor:.4g} times too fast ({long}, {short})",
            "description": f"Bad requests over {long}: {{{{ $value }}}} times what target {objective.target:g} allows",
        },
    }


def _no_data(objective: Objective) -> dict[str, object]:
    chosen = f'{{objective="{_quoted(objective.name)}"}}'
    return {
        "alert": "SloscopeNoData",
        "expr": f"{BLIND_SERIES}{chosen} == 1\nor absent_over_time({BLIND_SERIES}{chosen}[{SILENCE}])",
        "labels": {"severity": "ticket", "objective": _literal(objective.name)},
        "annotations": {"summary": f"{_literal(objective.name)}: no data; no data is not good news"},
    }


def _watchdog() -> dict[str, object]:
    return {
        "alert": "SloscopeWatchdog",
        "expr": "vector(1)",
        "labels": {"severity": "none"},
        "annotations": {"summary": "Always fires; route it to a dead man's switch that pages when it stops"},
    }


def recorded_name(kind: str, seconds: int) -> str:
    """Return the series that a recording rule writes: events, bad or bad_ratio over a window."""
    return f"sloscope:objective_{kind}:increase{window_name(seconds)}"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _literal(text: str) -> str:
    """Return text that Prometheus' templates leave as it is."""
    return text.replace("{{", '{{"{{"}}')
