"""Fits a wished number of instances into unit, minimum, maximum, quota and budget; says which of them held it back."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor

from analytics.scaling.pool import Pool


@dataclass(frozen=True, slots=True)
class Fitted:
    """The number that the limits allow and, where they cut the wish, why."""

    instances: int
    because: tuple[str, ...] = ()
    over_budget: bool = False


def fit(pool: Pool, wish: float) -> Fitted:
    """Round up to whole units, then cut to minimum, maximum, quota and budget (rounded down to units)."""
    wanted = ceil(wish / pool.unit - 1e-9) * pool.unit
    instances = max(wanted, ceil(pool.min / pool.unit) * pool.unit)
    because = []
    if instances > wanted:
        because.append(f"minimum of the pool is {pool.min}")
    for limit, name in ((pool.max, "maximum of the pool"), (pool.quota, "quota")):
        if limit is not None and instances > limit:
            instances = max(floor(limit / pool.unit) * pool.unit, 0)
            because.append(f"{name} is {limit}, {wanted} would be needed")
    over = False
    price = pool.cost_per_hour(1)
    if pool.budget_usd_per_hour is not None and price:
        affordable = floor(pool.budget_usd_per_hour / price / pool.unit + 1e-9) * pool.unit
        if instances > max(affordable, pool.min):
            instances, over = max(affordable, pool.min), True
            because.append(f"budget of {pool.budget_usd_per_hour:.2f} USD/h pays for {affordable}, not {wanted}")
    return Fitted(instances, tuple(because), over)
