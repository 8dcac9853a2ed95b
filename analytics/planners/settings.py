"""Turns settings (text, numbers, tables) into a planner's frozen inputs and back; never hides a fault."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import isfinite

from analytics.planners.form import InputField, InputValue, PlannerInputs, declared
from signals.errors import ConfigError, InputError, nearest

__all__ = ["PlainValue", "Setting", "inputs_from", "plain", "plain_inputs", "validate"]

#: What a person or a JSON body may give for one input.
Setting = str | float | Sequence[float] | Mapping[str, float] | Sequence[tuple[str, float]]
#: An input as JSON has it.
PlainValue = float | list[float] | dict[str, float]


class _UnreadableError(ValueError):
    """A setting's text does not read as its kind."""


def inputs_from(kind: type[PlannerInputs], settings: Mapping[str, Setting]) -> PlannerInputs:
    """Return the inputs with `settings` over the defaults.

    Raises ConfigError for unknown keys (naming the nearest) and InputError for unreadable or out-of-range values;
    both list every fault found.
    """
    known = {entry.name: entry for entry in declared(kind)}
    strangers = [key for key in settings if key not in known]
    if strangers:
        faults = [f"{key}: no such input{nearest(key, known)}" for key in strangers]
        raise ConfigError("unknown planner inputs", faults, keys=strangers)
    values: dict[str, InputValue] = {}
    wrong: list[str] = []
    for key, setting in settings.items():
        try:
            values[key] = _read(known[key], setting)
        except (_UnreadableError, ValueError, TypeError, AttributeError):
            wrong.append(f"{key}: {setting!r} is not {_expected(known[key])}")
    made = kind(**values)
    _refuse(wrong + _faults(made))
    return made


def validate(inputs: PlannerInputs) -> None:
    """Raise InputError naming each field that is out of its range."""
    _refuse(_faults(inputs))


def plain(value: InputValue) -> PlainValue:
    """Return an input as JSON has it: a number, a list, or a table.

    >>> plain((("a", 1.0),)), plain((1, 2)), plain(3)
    ({'a': 1.0}, [1, 2], 3)
    """
    if not isinstance(value, tuple):
        return value
    pairs = {item[0]: item[1] for item in value if isinstance(item, tuple)}
    return pairs if pairs else [item for item in value if not isinstance(item, tuple)]


def plain_inputs(inputs: PlannerInputs) -> dict[str, PlainValue]:
    """Return all inputs as JSON has them; `inputs_from` reads them back to an equal object."""
    return {entry.name: plain(getattr(inputs, entry.name)) for entry in fields(inputs)}  # type: ignore[arg-type]  # a dataclass


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        raise InputError("\n".join(["planner inputs out of range", *(f"  {fault}" for fault in faults)]), faults=faults)


def _faults(inputs: PlannerInputs) -> list[str]:
    found = []
    for entry in declared(type(inputs)):
        value = getattr(inputs, entry.name)
        flat = _flat(value)
        if not flat:
            found.append(f"{entry.name}: empty; expected {_expected(entry)}")
        elif any(not isfinite(each) or not entry.low <= each <= entry.high for each in flat):
            found.append(f"{entry.name}: {plain(value)!r} is outside {_expected(entry)}")
    return found


def _flat(value: InputValue) -> list[float]:
    if not isinstance(value, tuple):
        return [value]
    return [item[1] if isinstance(item, tuple) else item for item in value]


def _expected(entry: InputField) -> str:
    what = {
        "number": "a number",
        "whole": "a whole number",
        "numbers": "numbers (a,b,c), each",
        "named": "named numbers (name:value,...), each",
    }[entry.kind]
    return f"{what} from {entry.low:g} to {entry.high:g} {entry.unit}".rstrip()


def _read(entry: InputField, setting: Setting) -> InputValue:
    if entry.kind == "named":
        return _read_named(setting)
    if entry.kind == "numbers":
        return _read_numbers(setting)
    if not isinstance(setting, str | int | float):
        raise _UnreadableError
    amount = _number(setting)
    if entry.kind == "whole":
        if amount != int(amount):
            raise _UnreadableError
        return int(amount)
    return amount


def _number(text: str | float) -> float:
    """Read a number, keeping whole numbers whole; `_` and `,` group no digits here."""
    if isinstance(text, bool):
        raise _UnreadableError
    if isinstance(text, int):
        return text
    amount = float(text)
    return int(amount) if isinstance(text, str) and text.strip().lstrip("+-").isdigit() else amount


def _parts(text: str) -> list[str]:
    """Split at commas, or at bars where a comma already has a meaning (query strings, several settings in one)."""
    return [part for part in text.replace("|", ",").split(",") if part.strip()]


def _read_numbers(setting: Setting) -> tuple[float, ...]:
    if isinstance(setting, str):
        text = setting.strip()
        parts = json.loads(text) if text.startswith("[") else _parts(text)
        return tuple(_number(part) for part in parts)
    if isinstance(setting, Mapping):
        raise _UnreadableError
    if isinstance(setting, int | float):
        return (_number(setting),)
    return tuple(_number(each) for each in setting if not isinstance(each, tuple))


def _read_named(setting: Setting) -> tuple[tuple[str, float], ...]:
    if isinstance(setting, str):
        text = setting.strip()
        if text.startswith("{"):
            return _read_named(json.loads(text))
        pairs = [part.rsplit(":", 1) for part in _parts(text)]
        return tuple((name.strip(), _number(amount)) for name, amount in pairs)
    if isinstance(setting, Mapping):
        return tuple((str(name), _number(amount)) for name, amount in setting.items())
    if isinstance(setting, int | float):
        raise _UnreadableError
    found = []
    for pair in setting:
        if not isinstance(pair, tuple | list):
            raise _UnreadableError
        found.append((str(pair[0]), _number(pair[1])))
    return tuple(found)
