"""Says which pool a row of the store belongs to; makes one pool per (model, role, region) where none is configured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from analytics.scaling import Pool
from collector.store.reader import Columns

Rows = npt.NDArray[np.int64]
Key = tuple[str | None, str, str, str | None]


def pool_name(model: str, role: str, region: str | None) -> str:
    """Name an unconfigured pool: the model, its role where split, its region where known."""
    return model + (f":{role}" if role != "both" else "") + (f"@{region}" if region else "")


@dataclass
class Roster:
    """Held state: the pools met so far and the pool of every (pool label, model, role, region)."""

    configured: Sequence[Pool] = ()
    pools: list[Pool] = field(default_factory=list)
    _known: dict[Key, int | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pools = list(self.configured)

    def place(self, key: Key) -> int | None:
        """Return the pool's place in `pools`; None where pools are configured and none of them matches."""
        if key not in self._known:
            self._known[key] = self._find(key)
        return self._known[key]

    def rows(self, columns: Columns) -> dict[int, Rows]:
        """Return the row numbers of each pool, in the order of the rows; needs model, role, region and pool columns."""
        found: dict[int, list[int]] = defaultdict(list)
        keys = zip(*(columns[name].tolist() for name in ("pool", "model", "role", "region")), strict=True)
        for row, (label, model, role, region) in enumerate(keys):
            place = self.place((label, model, role or "both", region))
            if place is not None:
                found[place].append(row)
        return {place: np.array(rows, dtype=np.int64) for place, rows in found.items()}

    def _find(self, key: Key) -> int | None:
        label, model, role, region = key
        for place, pool in enumerate(self.configured):
            if label is not None and pool.name == label:
                return place
        for wanted in (region, None):  # the pool of this very region before one for all regions
            for place, pool in enumerate(self.configured):
                if (pool.model, pool.role, pool.region) == (model, role, wanted):
                    return place
        if self.configured:
            return None
        name = pool_name(model, role, region)
        for place, pool in enumerate(self.pools):
            if pool.name == name:
                return place
        self.pools.append(Pool(name, model, role, region))
        return len(self.pools) - 1
