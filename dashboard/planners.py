"""One planner's page: sliders, the plan assumed beside measured, a picture; asks the collector for what is measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import floor, log10
from typing import Protocol

import streamlit as st

from analytics import planners
from analytics.planners import InputField, Planner
from analytics.planners.settings import plain
from dashboard.planner_pictures import PICTURES

__all__ = ["PLANNERS", "PlansClient", "planner_page", "slider_values", "text_of"]

Json = Mapping[str, object]
#: Titles by planner id, in the order of the documentation.
PLANNERS = {name: planner.title for name, planner in planners.PLANNERS.items()}
#: A range wider than this is walked in steps of 1, 2, 5.
_DECADES = 2.0
#: From zero, a range up to this is a plain slider.
_NARROW = 20


class PlansClient(Protocol):
    """What the page needs of the HTTP client: CONTRACT's `plan` object for a planner and settings."""

    def plan(self, name: str, settings: Mapping[str, object]) -> dict[str, object]: ...


def planner_page(name: str, client: PlansClient) -> None:
    """Draw the page of planner `name`."""
    planner = planners.get(name)
    st.subheader(planner.question)
    measured = client.plan(name, {})
    settings = _controls(planner, _rows(measured.get("inputs")))
    report = client.plan(name, settings) if settings else measured
    st.markdown(f"**{report.get('headline', '')}**")
    st.altair_chart(PICTURES[name](_drawn(planner, report)), width="stretch")
    _verdicts(report)
    _steps(report)
    _inputs(report)


def slider_values(low: float, high: float, current: float, whole: bool) -> list[float]:
    """Return the stops of a slider over a wide range: 1, 2 and 5 of every decade, both ends, and the current value."""
    stops = {current, low, high}
    for power in range(floor(log10(max(low, 1e-12))), floor(log10(high)) + 1):
        stops |= {digit * 10.0**power for digit in (1, 2, 5)}
    kept = sorted(stop for stop in stops if low <= stop <= high)
    return sorted({float(round(stop)) for stop in kept}) if whole else kept


def text_of(value: object) -> str:
    """Return a list or a table as the text that settings read: `1|16|64`, `naive:0.0002|precompiled:0.00002`."""
    if isinstance(value, Mapping):
        return "|".join(f"{key}:{each:.6g}" for key, each in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "|".join(f"{each:.6g}" for each in value)
    return str(value)


def _rows(value: object) -> dict[str, Json]:
    return (
        {str(key): row for key, row in value.items() if isinstance(row, Mapping)} if isinstance(value, Mapping) else {}
    )


def _controls(planner: Planner, rows: Mapping[str, Json]) -> dict[str, object]:
    """Draw a control for each input; return what the person changed."""
    changed: dict[str, object] = {}
    with st.expander("Inputs", expanded=True):
        columns = st.columns(3)
        for place, entry in enumerate(planner.fields()):
            value = rows.get(entry.name, {}).get("value", plain(entry.default))
            source = rows.get(entry.name, {}).get("source", "assumed")
            label = f"{entry.name.replace('_', ' ')} ({entry.unit}, {source})"
            key = f"{planner.name}.{entry.name}"
            with columns[place % 3]:
                picked = _control(entry, label, key, value)
            if picked != value and picked != text_of(value):
                changed[entry.name] = picked
    return changed


def _control(entry: InputField, label: str, key: str, value: object) -> object:
    if entry.kind in ("numbers", "named") or not isinstance(value, int | float):
        return st.text_input(label, text_of(value), key=key, help=entry.help)
    whole = entry.kind == "whole"
    if entry.low <= 0 or log10(entry.high / max(entry.low, 1e-12)) <= _DECADES:
        if entry.high - entry.low <= _NARROW and (value == 0 or abs(value) > entry.high / 200):
            step = 1.0 if whole else (entry.high - entry.low) / 1000
            picked = st.slider(label, float(entry.low), float(entry.high), float(value), step, key=key, help=entry.help)
            return round(picked) if whole else picked
        low = min(float(value), 1.0) if value > 0 else 0.0
        stops = [0.0, *slider_values(max(low, 1e-9), entry.high, max(float(value), 1e-9), whole)]
        stops = sorted({*stops, float(value)})
    else:
        stops = slider_values(entry.low, entry.high, float(value), whole)
    picked = st.select_slider(
        label, stops, float(value), key=key, help=entry.help, format_func=lambda stop: f"{stop:,.4g}"
    )
    return round(float(picked)) if whole else float(picked)


def _drawn(planner: Planner, report: Json) -> planners.Plan:
    """Return the plan behind a report, made again from its inputs so that the picture has all of it."""
    values = {name: row.get("value") for name, row in _rows(report.get("inputs")).items()}
    known = {entry.name for entry in planner.fields()}
    return planner.plan({name: value for name, value in values.items() if name in known})  # type: ignore[misc]  # JSON


def _verdicts(report: Json) -> None:
    columns = st.columns(2)
    for place, row in enumerate(_list(report.get("verdicts"))):
        with columns[place % 2]:
            mark = ":green[:material/check_circle:]" if row.get("holds") else ":orange[:material/warning:] not so:"
            st.markdown(f"{mark} {row.get('verdict')}")
            st.caption(str(row.get("because", "")))


def _steps(report: Json) -> None:
    """Draw every step, assumed beside measured where telemetry gave something."""
    assumed = {str(row.get("name")): row for row in _list(_part(report, "assumed_plan", "steps"))}
    measured = {str(row.get("name")): row for row in _list(_part(report, "measured_plan", "steps"))}
    rows = []
    for step in _list(report.get("steps")):
        name = str(step.get("name"))
        row = {"step": name, "unit": step.get("unit"), "assumed": _shown(assumed.get(name, step).get("value"))}
        if measured:
            row["measured"] = _shown(measured.get(name, {}).get("value"))
        rows.append(row | {"because": step.get("because")})
    st.dataframe(rows, width="stretch", hide_index=True)


def _inputs(report: Json) -> None:
    rows = []
    for name, row in _rows(report.get("inputs")).items():
        interval = row.get("interval")
        rows.append(
            {
                "input": name,
                "unit": row.get("unit"),
                "value": _shown(row.get("value")),
                "source": row.get("source"),
                "interval": " to ".join(_shown(each) for each in interval) if isinstance(interval, list) else "",
                "assumed": _shown(row.get("assumed")),
                "from": row.get("basis") or row.get("assumption"),
            }
        )
    with st.expander("Where each input comes from"):
        st.dataframe(rows, width="stretch", hide_index=True)


def _part(report: Json, plan: str, part: str) -> object:
    inner = report.get(plan)
    return inner.get(part) if isinstance(inner, Mapping) else None


def _list(value: object) -> list[Json]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def _shown(value: object) -> str:
    """Return a cell: numbers with four digits, tables in one line, a dash for no answer."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,.4g}" if abs(value) < 1e6 else f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}: {_shown(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(_shown(each) for each in value)
    return str(value)
