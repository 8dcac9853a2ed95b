"""Reads `pools.yaml` into pools; names every fault as file:key with the nearest known key, guesses nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import yaml

from analytics.scaling import Pool
from signals.errors import ConfigError, nearest

__all__ = ["load_pools", "read_pools"]


@dataclass(frozen=True, slots=True)
class _Key:
    """One key of a pool: the field it fills, what it must be, in words, and how it is read."""

    field: str
    expected: str
    read: Callable[[object], object]


def _text(value: object) -> object:
    return value if isinstance(value, str) and value else None


def _whole(lowest: int) -> Callable[[object], object]:
    return lambda value: value if isinstance(value, int) and not isinstance(value, bool) and value >= lowest else None


def _number(value: object) -> object:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def _choice(*allowed: str) -> Callable[[object], object]:
    return lambda value: value if value in allowed else None


def _price(value: object) -> object:
    """A number, or a mapping {value, since}; the date is kept beside it by the caller."""
    return _number(value.get("value")) if isinstance(value, Mapping) else _number(value)


KEYS: dict[str, _Key] = {
    "name": _Key("name", "a name", _text),
    "model": _Key("model", "the model's name", _text),
    "role": _Key("role", "both, prefill or decode", _choice("both", "prefill", "decode")),
    "region": _Key("region", "a region's name", _text),
    "gpu_type": _Key("gpu_type", "a GPU's name", _text),
    "gpus_per_instance": _Key("gpus_per_instance", "a whole number from 1", _whole(1)),
    "unit": _Key("unit", "instances that come and go together, from 1", _whole(1)),
    "min": _Key("min", "a whole number from 0", _whole(0)),
    "max": _Key("max", "a whole number from 0", _whole(0)),
    "usd_per_gpu_hour": _Key("usd_per_gpu_hour", "a price above 0, or {value, since}", _price),
    "standby": _Key("standby", "a whole number from 0", _whole(0)),
    "budget_usd_per_hour": _Key("budget_usd_per_hour", "a number above 0", _number),
    "quota": _Key("quota", "instances, from 0", _whole(0)),
    "class": _Key("class_", "interactive or deferrable", _choice("interactive", "deferrable")),
    "survive": _Key("survive", "instances that may fail, from 0", _whole(0)),
    "ratio": _Key("ratio", "prefill instances per decode instance, above 0", _number),
    "partner": _Key("partner", "another pool's name", _text),
}


def load_pools(path: Path) -> tuple[Pool, ...]:
    """Read a file. Raises ConfigError that lists every fault."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot read {path}", [f"{path}: {error.strerror}"]) from error
    return read_pools(text, str(path))


def read_pools(text: str, file: str = "pools.yaml") -> tuple[Pool, ...]:
    """Read the text of a file: a list of pools, or a mapping with the one key `pools`."""
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ConfigError(f"{file} is not YAML", [f"{file}: {error}"]) from error
    faults: list[str] = []
    if isinstance(document, Mapping):
        faults += [f"{file}:{key}: unknown key{nearest(str(key), ['pools'])}" for key in document if key != "pools"]
        document = document.get("pools")
    if not isinstance(document, list):
        raise ConfigError(f"{file} is not usable", [*faults, f"{file}:pools: expected a list of pools"])
    pools = [_pool(entry, f"{file}:pools[{place}]", faults) for place, entry in enumerate(document)]
    seen: set[str] = set()
    for place, pool in enumerate(pools):
        if pool is not None and pool.name in seen:
            faults.append(f"{file}:pools[{place}].name: {pool.name!r} is used twice")
        seen.add(pool.name if pool else "")
    if faults:
        raise ConfigError(f"{file} is not usable", faults)
    return tuple(pool for pool in pools if pool is not None)


def _pool(entry: object, where: str, faults: list[str]) -> Pool | None:
    before = len(faults)
    if not isinstance(entry, Mapping):
        faults.append(f"{where}: expected a mapping, got {type(entry).__name__}")
        return None
    fields: dict[str, object] = {}
    for key, value in _priced(entry).items():
        rule = KEYS.get(str(key))
        if rule is None:
            faults.append(f"{where}.{key}: unknown key{nearest(str(key), KEYS)}")
            continue
        if value is None and key not in ("name", "model"):
            continue
        read = rule.read(value)
        if read is None:
            faults.append(f"{where}.{key}: expected {rule.expected}, got {value!r}")
        else:
            fields[rule.field] = read
        if key == "usd_per_gpu_hour" and isinstance(value, Mapping):
            fields["price_since"] = _since(value, f"{where}.{key}", faults)
    faults += [f"{where}.{key}: missing" for key in ("name", "model") if key not in entry]
    if len(faults) > before:
        return None
    pool = Pool(**fields)  # type: ignore[arg-type]  # every value has passed its key's rule
    return pool if _consistent(pool, where, faults) else None


def _priced(entry: Mapping[object, object]) -> Mapping[object, object]:
    """Return the pool with a `since` beside its price moved into the price."""
    price = entry.get("usd_per_gpu_hour")
    if "since" not in entry or price is None or isinstance(price, Mapping):
        return entry
    kept = {key: value for key, value in entry.items() if key != "since"}
    return {**kept, "usd_per_gpu_hour": {"value": price, "since": entry["since"]}}


def _since(price: Mapping[object, object], where: str, faults: list[str]) -> str | None:
    faults += [
        f"{where}.{key}: unknown key{nearest(str(key), ['value', 'since'])}"
        for key in price
        if key not in ("value", "since")
    ]
    since = price.get("since")
    if since is None:
        return None
    try:
        return (since if isinstance(since, date) else date.fromisoformat(str(since))).isoformat()
    except ValueError:
        faults.append(f"{where}.since: expected a date YYYY-MM-DD, got {since!r}")
        return None


def _consistent(pool: Pool, where: str, faults: list[str]) -> bool:
    if pool.max is not None and pool.max < pool.min:
        faults.append(f"{where}.max: {pool.max} is below min {pool.min}")
        return False
    for limit, name in ((pool.min, "min"), (pool.max, "max")):
        if limit and limit % pool.unit:
            faults.append(f"{where}.{name}: {limit} is not a multiple of unit {pool.unit}")
            return False
    return True
