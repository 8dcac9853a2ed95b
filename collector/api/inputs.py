"""Reads what answers need beside the store: objectives, pools, pins; re-reads files when they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from collector.api.decided import Orders
from collector.api.services import Services

if TYPE_CHECKING:
    from datetime import datetime

    from analytics.forecast import Event
    from analytics.scaling import Pool
    from analytics.slo import Objective

T = TypeVar("T")
#: Minutes older than this are stored and counted again while halves come late; requests need not be read for them.
RAW_WINDOW = timedelta(hours=2)
_seen: dict[Path, tuple[object, object]] = {}


def configured_objectives(parts: Services) -> Sequence[Objective] | None:
    """Return the configured objectives; None: the built-in one stands in."""
    if not parts.config.objectives:
        return None
    from collector.api.questions import function

    load: Callable[[Path], Sequence[Objective]] = function("objective_files:load_objectives")
    return _kept(Path(parts.config.objectives), load)


def configured_pools(parts: Services) -> Sequence[Pool]:
    """Return the configured pools; none: one per model, role and region seen."""
    if not parts.config.pools:
        return ()
    from collector.answers.pools import load_pools

    return _kept(Path(parts.config.pools), load_pools)


def configured_calendar(parts: Services) -> Sequence[Event]:
    """Return the declared days that forecasts know of; none where no calendar is configured."""
    if not parts.config.calendar:
        return ()
    from collector.answers.forecast_calendar import load_calendar

    return _kept(Path(parts.config.calendar), load_calendar)


def orders_of(parts: Services, now: datetime) -> Orders:
    """Return the orders in force at `now`."""
    return Orders({pool: pin for pool, pin in parts.pins.pins().items() if pin.until > now}, parts.pins.frozen)


def scaling_inputs(parts: Services, now: datetime) -> dict[str, object]:
    """Return what `scale` takes beside the reader: pools, pins in force at `now`, the freeze, declared days."""
    from collector.answers.scale_states import Wishes

    orders = orders_of(parts, now)
    return {
        "pools": configured_pools(parts),
        "pins": orders.pins,
        "frozen": orders.frozen,
        "wishes": Wishes(calendar=configured_calendar(parts)),
    }


def _kept(path: Path, load: Callable[[Path], T]) -> T:
    """Return what `load` made of a path, again only when a file in it changed."""
    files = sorted(path.glob("**/*")) if path.is_dir() else [path]
    stamp = tuple((str(file), file.stat().st_mtime_ns) for file in files if file.is_file())
    known = _seen.get(path)
    if known is not None and known[0] == stamp:
        return known[1]  # type: ignore[return-value]  # stored under its own path and loader
    found = load(path)
    _seen[path] = (stamp, found)
    return found
