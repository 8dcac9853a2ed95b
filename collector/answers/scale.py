"""Answers "how many instances does each pool need next, and why?"; recommends, never scales anything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

from analytics.scaling import Decision, Pin, Pool, decide_all
from analytics.scaling.tolerance import quantised
from collector.answers.scale_states import Wishes, pool_states
from collector.store.reader import Reader
from signals.errors import BlindError, UnknownNameError

__all__ = ["Wishes", "decisions", "external_metrics", "replicas", "scale"]


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


#: The external metric that an HPA asks for; its label is the pool.
METRIC = "sloscope_desired_replicas"


def replicas(found: Sequence[Decision], pool: str, *, beyond_tolerance: bool = False) -> int:
    """Return the number that KEDA's metrics-api reads for one pool of `found`.

    `beyond_tolerance` moves it out of the 10 % that an HPA ignores (see analytics.scaling.tolerance). Raises
    BlindError where the pool is not seen: an error keeps an HPA where it is, a number would move it.
    """
    for decision in found:
        if decision.pool == pool:
            if decision.action == "hold_blind":
                raise BlindError(f"pool {pool} is not seen: {'; '.join(decision.because)}", pool=pool)
            wanted = decision.proposed
            return quantised(decision.current, wanted) if beyond_tolerance else wanted
    raise UnknownNameError("pool", pool, [decision.pool for decision in found])


def external_metrics(
    found: Sequence[Decision], pool: str, now: datetime, *, beyond_tolerance: bool = False
) -> dict[str, object]:
    """Return the ExternalMetricValueList of one pool for the Kubernetes external metrics API; raises as `replicas`."""
    value = replicas(found, pool, beyond_tolerance=beyond_tolerance)
    return {
        "kind": "ExternalMetricValueList",
        "apiVersion": "external.metrics.k8s.io/v1beta1",
        "metadata": {},
        "items": [
            {
                "metricName": METRIC,
                "metricLabels": {"pool": pool},
                "timestamp": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "value": str(value),
            }
        ],
    }
