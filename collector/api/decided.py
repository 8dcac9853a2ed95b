"""Holds the newest decisions of the scheduled job, so that who asks is told what was stored; decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from analytics.scaling import Pin

#: The job decides every 15 s; what is older than two rounds is computed anew.
FRESH = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class Orders:
    """What operators want: pins in force and the freeze. A decision made under other orders is none."""

    pins: Mapping[str, Pin]
    frozen: bool


@dataclass(slots=True)
class Decided:
    """The newest decisions with the moment and the orders that they were made at and under."""

    _at: datetime | None = None
    _orders: Orders | None = None
    _answer: Mapping[str, object] | None = None

    def keep(self, at: datetime, orders: Orders, answer: Mapping[str, object]) -> None:
        self._at, self._orders, self._answer = at, orders, answer

    def newest(self, now: datetime, orders: Orders) -> Mapping[str, object] | None:
        """Return the decisions if they still hold at `now` under `orders`."""
        if self._at is None or self._orders != orders or not timedelta(0) <= now - self._at <= FRESH:
            return None
        return self._answer
