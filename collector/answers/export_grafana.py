"""Writes Grafana dashboards from the signal catalog and the objectives; queries nothing and calls no server.

Two dashboards: one of objectives with their budgets and burn rates (over the rules of export_rules), one with a panel
for every canonical signal. Nothing is named here that the catalog or the rules do not name.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from analytics.slo import Objective
from collector.answers.export_rules import BAD_SERIES, GOOD_SERIES, recorded_name
from collector.answers.windows import rules_of, window_name
from signals.catalog import COUNTER, GAUGE, HISTOGRAM, SIGNALS, Signal

PREFIX = "sloscope_"
#: A gauge may not end like a part of a histogram or a counter.
RESERVED = ("_count", "_sum", "_bucket", "_total")
#: UCUM units as the catalog has them → Grafana's unit ids; what is not here has no unit.
UNITS = {"s": "s", "By": "bytes", "1": "percentunit", "h": "h", "USD": "currencyUSD", "{request}/s": "reqps"}
#: Columns of a dashboard, and the size of a panel in them.
_COLUMNS, _WIDTH, _HEIGHT = 24, 8, 7
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}

Panel = dict[str, object]


def export_grafana(objectives: Iterable[Objective]) -> dict[str, dict[str, object]]:
    """Return dashboards by file name, ready to be imported or provisioned."""
    return {
        "sloscope-objectives.json": _dashboard(
            "sloscope-objectives", "sloscope: objectives", _placed([_objective_row(one) for one in objectives])
        ),
        "sloscope-signals.json": _dashboard("sloscope-signals", "sloscope: signals", _placed(_signal_rows())),
    }


def series_name(signal: Signal) -> str:
    """Return a signal's name on an agent's Prometheus page: `sloscope_` before it, its kind's ending behind it."""
    suffix = {COUNTER: "_total", HISTOGRAM: "_bucket"}.get(signal.kind, "")
    if signal.kind == GAUGE and signal.name.endswith(RESERVED):
        suffix = "_current"
    return f"{PREFIX}{signal.name}{suffix}"


def _objective_row(objective: Objective) -> tuple[str, list[Panel]]:
    """Return the panels of one objective: ratio, budget left, burn rates with the lines at which rules fire."""
    name = objective.name.replace("\\", "\\\\").replace('"', '\\"')
    chosen = f'{{objective="{name}"}}'
    by = ", ".join(objective.by)
    window = window_name(objective.window_seconds)
    good, bad = (f"sum by ({by}) (increase({series}{chosen}[{window}]))" for series in (GOOD_SERIES, BAD_SERIES))
    allowed = 1 - objective.target
    rules = rules_of(objective)
    longest = sorted({rule.long_seconds for rule in rules})
    legend = " ".join(f"{{{{{dimension}}}}}" for dimension in objective.by) or objective.name
    ratio = _panel(
        f"Good requests over {window}",
        f"Share of eligible requests that met {objective.name}; the line is its target",
        [(f"{good} / ({good} + {bad})", legend)],
        unit="percentunit",
        lines=(objective.target,),
    )
    left = _panel(
        f"Error budget left of {window}",
        "1 is the whole budget, 0 none; below 0 it is overspent",
        [(f"1 - {bad} / ({good} + {bad}) / {allowed!r}", legend)],
        unit="percentunit",
        lines=(0.0,),
    )
    burn = _panel(
        "Burn rate",
        "How many times faster than allowed the budget burns; the lines are where a rule fires",
        [
            (f"{recorded_name('bad_ratio', seconds)}{chosen} / {allowed!r}", f"{legend} {window_name(seconds)}")
            for seconds in longest
        ],
        unit="none",
        lines=tuple(sorted({rule.factor for rule in rules})),
    )
    return objective.name, [ratio, left, burn]


def _signal_rows() -> list[tuple[str, list[Panel]]]:
    """Return a row of panels for each layer and kind of signal."""
    rows: dict[str, list[Panel]] = {}
    for signal in SIGNALS.values():
        rows.setdefault(f"{signal.layer}: {signal.kind}s", []).append(_signal_panel(signal))
    return list(rows.items())


def _signal_panel(signal: Signal) -> Panel:
    series = series_name(signal)
    unit = UNITS.get(signal.unit, "none")
    if signal.kind == HISTOGRAM:
        panel = _panel(signal.name, signal.help, [(f"sum by (le) (increase({series}[$__rate_interval]))", "{{le}}")])
        # A heat map of the engine's own buckets: a line through interpolated quantiles would claim too much.
        return {
            **panel,
            "type": "heatmap",
            "options": {"calculate": False, "yAxis": {"unit": unit}, "cellGap": 0},
            "targets": [{**target, "format": "heatmap"} for target in _targets(panel)],
        }
    if signal.kind == COUNTER:
        return _panel(
            f"{signal.name} per second",
            signal.help,
            [(f"sum by (model) (rate({series}[$__rate_interval]))", "{{model}}")],
            unit={"bytes": "Bps", "s": "none"}.get(unit, unit),
        )
    return _panel(signal.name, signal.help, [(series, "{{model}} {{instance}}")], unit=unit)


def _targets(panel: Panel) -> list[dict[str, object]]:
    targets = panel["targets"]
    assert isinstance(targets, list)
    return targets


def _panel(
    title: str,
    description: str,
    queries: Sequence[tuple[str, str]],
    *,
    unit: str = "none",
    lines: Sequence[float] = (),
) -> Panel:
    steps: list[dict[str, object]] = [{"color": "green", "value": None}]
    steps += [{"color": "red", "value": line} for line in lines]
    custom = {"thresholdsStyle": {"mode": "line" if lines else "off"}, "spanNulls": False}
    return {
        "type": "timeseries",
        "title": title,
        "description": description,
        "datasource": _DATASOURCE,
        "fieldConfig": {
            "defaults": {"unit": unit, "custom": custom, "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
        "targets": [
            {"refId": chr(65 + place), "datasource": _DATASOURCE, "expr": expression, "legendFormat": legend}
            for place, (expression, legend) in enumerate(queries)
        ],
    }


def _placed(rows: Iterable[tuple[str, list[Panel]]]) -> list[Panel]:
    """Return panels with ids and places, each row under its heading."""
    found: list[Panel] = []
    top = 0
    for title, panels in rows:
        found.append(
            {
                "type": "row",
                "title": title,
                "collapsed": False,
                "panels": [],
                "gridPos": {"x": 0, "y": top, "w": _COLUMNS, "h": 1},
            }
        )
        top += 1
        for place, panel in enumerate(panels):
            across = _COLUMNS // _WIDTH
            x, y = place % across * _WIDTH, top + place // across * _HEIGHT
            found.append({**panel, "gridPos": {"x": x, "y": y, "w": _WIDTH, "h": _HEIGHT}})
        top += -(-len(panels) // (_COLUMNS // _WIDTH)) * _HEIGHT
    return [{"id": number, **panel} for number, panel in enumerate(found, start=1)]


def _dashboard(uid: str, title: str, panels: list[Panel]) -> dict[str, object]:
    source = {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}
    return {
        "uid": uid,
        "title": title,
        "tags": ["sloscope"],
        "schemaVersion": 39,
        "editable": True,
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "utc",
        "refresh": "1m",
        "templating": {"list": [source]},
        "panels": panels,
    }
