"""Shows each objective's events since the server started as Prometheus counters, and whether it is blind as a gauge.

The exported rules read these three series. The counters begin at 0 with the process, as counters do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from analytics.slo import DIMENSIONS, Objective
from collector.answers.export_rules import BAD_SERIES, BLIND_SERIES, GOOD_SERIES
from collector.store.reader import Reader

_FOR_EVER = timedelta(days=36_500)
_HELP = {
    GOOD_SERIES: ("counter", "good events of an objective since the server started, by stored minute"),
    BAD_SERIES: ("counter", "bad events of an objective since the server started, by stored minute"),
    BLIND_SERIES: ("gauge", "1 where an objective has no data, so that it cannot be told whether it is met"),
}

Series = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(slots=True)
class ObjectiveSeries:
    """Held state: when counting began, and the highest values shown (a recount of a late minute may lower one)."""

    started_at: datetime
    _highest: dict[Series, int] = field(default_factory=dict)

    def page(self, reader: Reader, objectives: Iterable[Objective], rows: Iterable[Mapping[str, object]]) -> str:
        """Return Prometheus text; `rows` are those of `status`."""
        for series, value in objective_events(reader, objectives, self.started_at).items():
            self._highest[series] = max(value, self._highest.get(series, 0))
        values: dict[Series, int] = dict(self._highest)
        for row in rows:
            values[BLIND_SERIES, _labels(str(row["objective"]), row)] = int(row["state"] == "no_data")
        return _text(values)


def objective_events(reader: Reader, objectives: Iterable[Objective], started_at: datetime) -> dict[Series, int]:
    """Return both counters of every scope from stored minutes since `started_at`."""
    found: dict[Series, int] = {}
    for objective in objectives:
        columns = reader.columns(
            "slo_stored_counts",
            objective=objective.name,
            revision=objective.revision,
            since=started_at,
            until=started_at + _FOR_EVER,
            starts=[started_at],
        )
        for place in range(len(columns["good"])):
            labels = _labels(objective.name, {name: columns[name][place] for name in DIMENSIONS})
            found[GOOD_SERIES, labels] = int(columns["good"][place])
            found[BAD_SERIES, labels] = int(columns["bad"][place])
    return found


def _labels(objective: str, scope: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return labels; a dimension that the objective is not broken down by has none."""
    named = tuple((name, str(scope[name])) for name in DIMENSIONS if scope.get(name) is not None)
    return (("objective", objective), *named)


def _text(values: Mapping[Series, int]) -> str:
    lines: list[str] = []
    for name, (kind, told) in _HELP.items():
        samples = [(labels, value) for (series, labels), value in sorted(values.items()) if series == name]
        if samples:
            lines += [f"# HELP {name} {told}", f"# TYPE {name} {kind}"]
            lines += [f"{name}{{{_written(labels)}}} {value}" for labels, value in samples]
    return "".join(f"{line}\n" for line in lines)


def _written(labels: tuple[tuple[str, str], ...]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
