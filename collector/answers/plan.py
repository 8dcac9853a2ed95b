"""Answers `plan NAME`: the plan from assumed inputs beside the plan from measured ones; computes nothing itself.

With a store, every input that telemetry gives is measured with its interval; what a person gave stays as given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import numpy as np

from analytics import planners
from analytics.planners.comparison import Comparison, compare
from analytics.planners.form import Estimate, InputField, Plan, PlannerInputs
from analytics.planners.observed import BLOCKS, CONFIDENCE, OBSERVERS, Columns
from analytics.planners.report import Json, plan_report, step_rows, verdict_rows
from analytics.planners.settings import Setting, plain, plain_inputs
from collector.store.reader import Reader, as_datetime

__all__ = ["WINDOW", "catalogue", "plan"]

#: How far back planners look: a week holds every hour of the day and both kinds of day.
WINDOW = timedelta(days=7)
#: Which table's first and last time set the window, first choice first.
_SOURCES = ("requests", "arrivals", "engine", "signals")
_LEAST_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _Window:
    """The span that telemetry covers and the span in which starts of instances count."""

    since: datetime
    until: datetime
    wide: datetime

    @property
    def block_seconds(self) -> float:
        return (self.until - self.since).total_seconds() / BLOCKS


def plan(
    reader: Reader | None,
    now: datetime | None,
    name: str,
    settings: Mapping[str, Setting],
    model: str | None = None,
) -> Json:
    """Return CONTRACT's `plan` object, with `assumed_plan` and `measured_plan` (None without telemetry) beside.

    `settings` are inputs by name, as text or numbers. `model` keeps to one model's telemetry. The steps at the top
    are the measured plan's where anything was measured.
    """
    planner = planners.get(name)
    assumed = planner.read(settings)
    estimates, filled = _measure(reader, now, planner, settings, model) if reader is not None else ({}, assumed)
    assumed_plan = assumed.plan()
    measured_plan = filled.plan() if estimates else None
    report = plan_report(measured_plan or assumed_plan)
    comparison = compare(planner, assumed, filled, estimates) if estimates else Comparison((), ())
    report["inputs"] = _input_rows(planner.fields(), filled, estimates, settings)
    report["verdicts"] = [*verdict_rows(comparison.verdicts), *verdict_rows((measured_plan or assumed_plan).verdicts)]
    report["assumed_plan"] = _short(assumed_plan)
    report["measured_plan"] = _short(measured_plan) if measured_plan else None
    report["broken_assumptions"] = list(comparison.broken)
    report["question"] = planner.question
    report["confidence"] = CONFIDENCE if estimates else None
    return report


def catalogue() -> list[Json]:
    """Return every planner with its question and inputs, for lists, help and pages."""
    return [
        {
            "planner": each.name,
            "title": each.title,
            "question": each.question,
            "inputs": _input_rows(each.fields(), each.inputs(), {}, {}),
        }
        for each in planners.PLANNERS.values()
    ]


def _measure(
    reader: Reader, now: datetime | None, planner: planners.Planner, settings: Mapping[str, Setting], model: str | None
) -> tuple[dict[str, Estimate], PlannerInputs]:
    """Return what telemetry gives beyond `settings`, and the inputs with it in.

    Measured twice: some measures read other inputs, as flops reached need the GPUs of a machine.
    """
    assumed = filled = planner.read(settings)
    estimates: dict[str, Estimate] = {}
    window = _window(reader, now, model)
    if window is None:
        return estimates, assumed
    observer = OBSERVERS[planner.name]
    telemetry = {query: _columns(reader, query, window, model) for query in observer.queries}
    for _ in range(2):
        found = observer.observe(telemetry, filled)
        estimates = {name: each for name, each in found.items() if name not in settings}
        filled = _filled(assumed, estimates, planner.fields())
    return estimates, filled


def _window(reader: Reader, now: datetime | None, model: str | None) -> _Window | None:
    """Return the span to read within WINDOW before `now`, or before the newest time stored where that holds nothing."""
    for until in (now, _newest(reader)):
        found = None if until is None else _window_before(reader, until, model)
        if found is not None:
            return found
    return None


def _window_before(reader: Reader, until: datetime, model: str | None) -> _Window | None:
    wide = until - WINDOW
    extent = reader.columns("plan_extent", since=wide, until=until, model=model)
    spans = {
        str(source): (as_datetime(first), as_datetime(last))
        for source, first, last in zip(extent["source"], extent["first"], extent["last"], strict=True)
    }
    for source in _SOURCES:
        if source in spans and (spans[source][1] - spans[source][0]).total_seconds() >= _LEAST_SECONDS:
            return _Window(*spans[source], wide)
    return None


def _newest(reader: Reader) -> datetime | None:
    found = reader.columns("plan_newest")["ts"]
    return None if len(found) == 0 or np.isnat(found[0]) else as_datetime(found[0])


def _columns(reader: Reader, query: str, window: _Window, model: str | None) -> Columns:
    if query == "plan_instances":
        return reader.columns(query, since=window.wide, until=window.until, model=model)
    if query in _BLOCKED:
        return reader.columns(
            query,
            since=window.since,
            until=window.until,
            model=model,
            blocks=BLOCKS,
            block_seconds=window.block_seconds,
        )
    return reader.columns(query, since=window.since, until=window.until, model=model)


#: Queries that sum by block of time.
_BLOCKED = frozenset(
    {
        "plan_request_blocks",
        "plan_arrival_blocks",
        "plan_engine_blocks",
        "plan_signal_blocks",
        "plan_histogram_blocks",
        "plan_long_blocks",
        "plan_spec_groups",
    }
)


def _filled(assumed: PlannerInputs, estimates: Mapping[str, Estimate], fields: tuple[InputField, ...]) -> PlannerInputs:
    """Return the inputs with measured values in, kept within each input's range."""
    values: dict[str, object] = {}
    for entry in fields:
        if entry.name in estimates:
            values[entry.name] = _within(entry, estimates[entry.name].value)
    return replace(assumed, **values)  # type: ignore[type-var]  # every PlannerInputs is a dataclass


def _within(entry: InputField, value: object) -> object:
    def clip(amount: float) -> float:
        kept = min(max(float(amount), entry.low), entry.high)
        return round(kept) if entry.kind == "whole" else kept

    if not isinstance(value, tuple):
        return clip(float(np.float64(value)))  # type: ignore[arg-type]  # a number by its kind
    return tuple((pair[0], clip(pair[1])) if isinstance(pair, tuple) else clip(pair) for pair in value)


def _input_rows(
    fields: tuple[InputField, ...],
    inputs: PlannerInputs,
    estimates: Mapping[str, Estimate],
    settings: Mapping[str, Setting],
) -> dict[str, Json]:
    values = plain_inputs(inputs)
    rows: dict[str, Json] = {}
    for entry in fields:
        row: Json = {"value": values[entry.name], "unit": entry.unit, "source": "assumed"}
        if entry.name in settings:
            row["source"] = "given"
        elif entry.name in estimates:
            found = estimates[entry.name]
            row["source"] = "measured"
            row["basis"] = found.basis
            if found.low is not None and found.high is not None:
                row["interval"] = [max(found.low, entry.low), min(found.high, entry.high)]
        row |= {
            "assumed": plain(entry.default),
            "assumption": entry.source,
            "help": entry.help,
            "range": [entry.low, entry.high],
            "kind": entry.kind,
        }
        rows[entry.name] = row
    return rows


def _short(made: Plan) -> Json:
    return {"steps": step_rows(made.steps), "verdicts": verdict_rows(made.verdicts), "headline": made.headline}
