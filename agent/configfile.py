"""Turns YAML into frozen settings: finds every fault, names the key, offers the nearest; knows no particular setting.

A setting is a dataclass field annotated with `Setting`. Its value comes from the file, from an environment variable
`SLOSCOPE_SECTION_KEY`, or from its default; `Loaded.sources` remembers which.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Generic, TypeVar, Union, get_args, get_origin, get_type_hints

import yaml

from signals.errors import ConfigError, nearest

T = TypeVar("T")
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Setting:
    """What a setting means; `key` is its name in YAML where it differs, `parse` reads what people write."""

    help: str
    key: str | None = None
    parse: Callable[[object], object] | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """One setting of a form: its field, its name in YAML and its type."""

    field_name: str
    key: str
    kind: object
    setting: Setting
    default: object


@dataclass(frozen=True, slots=True)
class Loaded(Generic[T]):
    """Settings and where each came from (dotted key → source)."""

    config: T
    sources: Mapping[str, str]


@dataclass(slots=True)
class _Reading:
    source: str
    env: Mapping[str, str]
    sources: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def load(form: type[T], text: str, source: str, env: Mapping[str, str]) -> Loaded[T]:
    """Return the settings in a YAML text. Raise ConfigError with every fault found."""
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{source}: not YAML: {error}") from error
    reading = _Reading(source, env)
    config = _form(form, {} if data is None else data, "", reading)
    if reading.faults:
        raise ConfigError(f"{source}: {len(reading.faults)} fault(s)", reading.faults)
    return Loaded(config, reading.sources)


def places(form: type) -> list[Place]:
    """Return the settings of a form in their order."""
    hints = get_type_hints(form, include_extras=True)
    found = []
    for entry in fields(form):
        kind, setting = get_args(hints[entry.name])[:2]
        default = entry.default_factory() if entry.default_factory is not MISSING else entry.default
        found.append(Place(entry.name, setting.key or entry.name, kind, setting, default))
    return found


def _form(form: type[T], data: object, path: str, reading: _Reading) -> T:
    if not isinstance(data, Mapping):
        reading.faults.append(f"{path or 'the file'}: expected a mapping, found {_seen(data)}")
        return form()
    known = {place.key: place for place in places(form)}
    for key in data:
        if key not in known:
            reading.faults.append(f"{_join(path, str(key))}: unknown key{nearest(str(key), known)}")
    values: dict[str, object] = {}
    for key, place in known.items():
        here = _join(path, key)
        found = _value(place, data, here, reading)
        if found is not MISSING:
            values[place.field_name] = found
        elif not is_dataclass(place.default):
            reading.sources[here] = DEFAULT
    return form(**values)


def _value(place: Place, data: Mapping[str, object], here: str, reading: _Reading) -> object:
    kind = place.kind
    if isinstance(kind, type) and is_dataclass(kind):
        return _form(kind, data.get(place.key) or {}, here, reading)
    variable = f"SLOSCOPE_{here.upper().replace('.', '_')}"
    if "[" not in here and variable in reading.env and _takes_text(kind):
        reading.sources[here] = variable
        given: object = reading.env[variable]
        if place.setting.parse is None and kind is not str and not _is_text(kind):
            given = yaml.safe_load(str(given))
    elif place.key in data:
        reading.sources[here] = reading.source
        given = data[place.key]
    else:
        return MISSING
    return _converted(place, given, here, reading)


def _converted(place: Place, given: object, here: str, reading: _Reading) -> object:
    kind, setting = place.kind, place.setting
    if given is None and _optional(kind):
        return None
    try:
        if setting.parse is not None:
            return setting.parse(given)
        found = _typed(_plain(kind), given, here, reading)
    except ValueError as error:
        reading.faults.append(f"{here}: expected {error}, found {_seen(given)}")
        return MISSING
    if setting.choices and found not in setting.choices:
        reading.faults.append(f"{here}: {_seen(given)} is none of {', '.join(setting.choices)}")
    return found


def _typed(kind: object, given: object, here: str, reading: _Reading) -> object:  # one return a type
    origin = get_origin(kind)
    if origin is tuple:
        item = get_args(kind)[0]
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise ValueError("a list")
        if isinstance(item, type) and is_dataclass(item):
            return tuple(_form(item, entry, f"{here}[{i}]", reading) for i, entry in enumerate(given))
        return tuple(str(entry) for entry in given)
    if origin is not None and isinstance(given, Mapping):
        return {str(key): str(value) for key, value in given.items()}
    if kind is bool:
        if isinstance(given, bool):
            return given
        raise ValueError("true or false")
    if kind is int:
        if isinstance(given, int) and not isinstance(given, bool):
            return given
        raise ValueError("a whole number")
    if kind is str:
        if isinstance(given, str | int | float) and not isinstance(given, bool):
            return str(given)
        if isinstance(given, bool):
            return "yes" if given else "no"
        raise ValueError("text")
    raise ValueError("a mapping")


def _plain(kind: object) -> object:
    """Return a type without its None."""
    if get_origin(kind) in (Union, types.UnionType):
        return next(part for part in get_args(kind) if part is not type(None))
    return kind


def _optional(kind: object) -> bool:
    return get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind)


def _is_text(kind: object) -> bool:
    return _plain(kind) is str


def _takes_text(kind: object) -> bool:
    """Return whether an environment variable can hold the setting."""
    return not (get_origin(_plain(kind)) is tuple and is_dataclass(get_args(_plain(kind))[0]))


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _seen(value: object) -> str:
    return repr(value)[:60]
