"""Answers "how many instances does each pool need next, and why?"; recommends, never scales anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from analytics.scaling import Decision, Pin, Pool, decide_all
from collector.answers.scale_states import Wishes, pool_states
from collector.store.reader import Reader
from signals.errors import UnknownNameError

__all__ = ["Wishes", "decisions", "scale"]


def scale(
    reader: Reader,
    now: datetime,
    *,
    pool: str | None = None,
    pools: Sequence[Pool] = (),
    pins: Mapping[str, Pin] | None = None,
    frozen: bool = False,
    wishes: Wishes | None = None,
) -> dict[str, object]:
    """Return `{"recommendations": [...]}` as the contract shapes it, one per pool.

    Without `pools` there is one pool per (model, role, region) seen. Raises UnknownNameError for a `pool` that is
    neither configured nor seen. `wishes` carries events, budgets, objectives and what the orchestrator says.
    """
    given = wishes or Wishes()
    if pins:
        given = replace(given, pins=pins)
    if frozen:
        given = replace(given, frozen=True)
    found = decisions(reader, now, pools=pools, wishes=given)
    if pool is not None:
        chosen = [decision for decision in found if decision.pool == pool]
        if not chosen:
            raise UnknownNameError("pool", pool, [decision.pool for decision in found])
        found = chosen
    return {"recommendations": [decision.to_dict() for decision in found], "frozen": given.frozen}


def decisions(
    reader: Reader, now: datetime, *, pools: Sequence[Pool] = (), wishes: Wishes | None = None
) -> list[Decision]:
    """Return the decisions themselves: what the scheduled job stores and later grades."""
    return list(decide_all(pool_states(reader, now, pools, wishes or Wishes()), now))
