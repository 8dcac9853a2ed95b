"""Keeps how each pool's demand was learned to grow: learned anew every hour from a week, looked up in between."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from analytics.scaling.growth import Growth

#: What was learned holds for an hour.
RELEARN_AFTER = timedelta(hours=1)
#: So many pools are learned in one round, the longest unlearned first: nobody waits for all of them.
AT_ONCE = 32


@dataclass(slots=True)
class Growths:
    """Growth by key (pool and lead); not for use by several threads at once."""

    _kept: dict[Hashable, tuple[datetime, Growth]] = field(default_factory=dict)

    def stale(self, keys: Iterable[Hashable], now: datetime) -> set[Hashable]:
        """Return the keys that are to be learned now; what is kept of keys that nobody asks for is forgotten."""
        asked = list(keys)
        self._kept = {key: self._kept[key] for key in asked if key in self._kept}
        old = [key for key in asked if not self._is_fresh(key, now)]
        old.sort(key=lambda key: self._kept[key][0] if key in self._kept else datetime.min.replace(tzinfo=now.tzinfo))
        return set(old[:AT_ONCE])

    def keep(self, key: Hashable, now: datetime, growth: Growth | None) -> None:
        """Keep what was learned at `now`; where nothing could be learned, nothing is kept."""
        if growth is not None:
            self._kept[key] = (now, growth)

    def get(self, key: Hashable) -> Growth | None:
        """Return what was learned last."""
        kept = self._kept.get(key)
        return None if kept is None else kept[1]

    def _is_fresh(self, key: Hashable, now: datetime) -> bool:
        kept = self._kept.get(key)
        return kept is not None and timedelta(0) <= now - kept[0] < RELEARN_AFTER
