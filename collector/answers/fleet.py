"""Reads a fleet file for `replay`: engine, price, routing; names every fault; fits the engine where none is given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path

import yaml

from analytics.replay import Engine
from analytics.replay.scorecard import Fleet
from analytics.replay.simulator import ROUTING
from collector.answers.replay import calibrate
from collector.store.reader import Reader
from signals.errors import ConfigError, NotEnoughDataError, nearest

__all__ = ["load_fleet", "own_fleet", "read_fleet"]

_WHOLE = (
    "token_budget",
    "seats",
    "kv_tokens",
    "block_tokens",
    "cache_tokens",
    "gpus_per_instance",
    "largest",
    "smallest",
)
_ENGINE = tuple(field.name for field in fields(Engine))
_FLEET = ("engine", "gpus_per_instance", "usd_per_gpu_hour", "largest", "smallest", "routing")


def load_fleet(path: Path) -> Fleet:
    """Read a fleet file. Raises ConfigError that lists every fault."""
    try:
        return read_fleet(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ConfigError(f"cannot read {path}", [f"{path}: {error.strerror}"]) from error


def read_fleet(text: str, file: str = "fleet.yaml") -> Fleet:
    """Read the text of a fleet file: a mapping with the keys of Fleet, `engine` with those of Engine."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{file} is not YAML", [f"{file}: {error}"]) from error
    document = {} if document is None else document
    if not isinstance(document, Mapping):
        raise ConfigError(f"{file} is not usable", [f"{file}: expected a mapping"])
    faults: list[str] = []
    engine = document.get("engine") or {}
    if not isinstance(engine, Mapping):
        faults.append(f"{file}:engine: expected a mapping")
        engine = {}
    given = _numbers(engine, _ENGINE, f"{file}:engine.", faults)
    outer = {key: value for key, value in document.items() if key not in ("engine", "routing")}
    fleet = _numbers(outer, tuple(key for key in _FLEET if key not in ("engine", "routing")), f"{file}:", faults)
    routing = document.get("routing", "least_busy")
    if routing not in ROUTING:
        faults.append(f"{file}:routing: unknown routing {routing!r}{nearest(str(routing), ROUTING)}")
    if faults:
        raise ConfigError(f"{file} is not usable", faults)
    return replace(Fleet(engine=replace(Engine(), **given), routing=routing), **fleet)  # type: ignore[arg-type]  # checked above


def own_fleet(reader: Reader, now: datetime, *, days: float = 1.0, model: str | None = None) -> tuple[Fleet, str]:
    """Return a fleet whose engine is fitted to the store, and where it comes from; the default where that fails."""
    try:
        found = calibrate(reader, now, days=days, model=model)
    except NotEnoughDataError as error:
        return Fleet(), f"default engine: {error.message}"
    engine = found["engine"]
    assert isinstance(engine, dict)
    return Fleet(engine=replace(Engine(), **engine)), f"calibrated on {found['samples']} samples of {found['instance']}"


def _numbers(given: Mapping[object, object], known: tuple[str, ...], where: str, faults: list[str]) -> dict[str, float]:
    found: dict[str, float] = {}
    for key, value in given.items():
        name = str(key)
        if name not in known:
            faults.append(f"{where}{name}: unknown key{nearest(name, known)}")
        elif isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            faults.append(f"{where}{name}: expected a number from 0, got {value!r}")
        elif name in _WHOLE and value != int(value):
            faults.append(f"{where}{name}: expected a whole number, got {value!r}")
        else:
            found[name] = int(value) if name in _WHOLE else float(value)
    return found
