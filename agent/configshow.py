"""Shows the settings in force and where each came from; values of secret files are never read."""

from __future__ import annotations

from dataclasses import is_dataclass

from agent.config import Config
from agent.configfile import Loaded, places


def plain(config: object) -> dict[str, object]:
    """Return settings as plain data under their YAML keys."""
    assert is_dataclass(config)
    return {
        place.key: _plain_value(getattr(config, place.field_name), place.setting.parse is not None)
        for place in places(type(config))
    }


def listing(loaded: Loaded[Config]) -> str:
    """Return one line a setting: `key = value  # source`."""
    lines: list[str] = []
    _lines(plain(loaded.config), "", loaded, lines)
    return "\n".join(lines)


def _lines(data: object, path: str, loaded: Loaded[Config], lines: list[str]) -> None:
    if isinstance(data, dict) and data and path not in loaded.sources:
        for key, value in data.items():
            _lines(value, f"{path}.{key}" if path else str(key), loaded, lines)
    elif isinstance(data, list) and data and isinstance(data[0], dict):
        for number, entry in enumerate(data):
            _lines(entry, f"{path}[{number}]", loaded, lines)
    else:
        lines.append(f"{path} = {data!r}  # {loaded.sources.get(path, 'default')}")


def _plain_value(value: object, parsed: bool) -> object:
    if is_dataclass(value):
        return plain(value)
    if isinstance(value, tuple):
        if parsed and len(value) == 2:
            return f"{value[0]}:{value[1]}"
        return [_plain_value(item, False) for item in value]
    if isinstance(value, dict):
        return dict(value)
    return value
