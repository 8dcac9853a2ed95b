"""Says of each request whether it is good, bad or excluded under an objective; knows no window and no store.

client_error and rate_limited (a tenant over its own quota) are excluded. error, timeout and rejected are bad: shedding
load never raises goodput. ok is good when every threshold is met. aborted is bad unless the first token had come and
every objective observable before the client left was met: a client pressing Stop after a good first token costs
nothing, a hung server does not look good because its users are impatient.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from analytics.slo.objective import Objective

GOOD, BAD, EXCLUDED, OUTSIDE = "good", "bad", "excluded", "outside"
EXCLUDED_STATUSES: tuple[str, ...] = ("client_error", "rate_limited")
BAD_STATUSES: tuple[str, ...] = ("error", "timeout", "rejected")

Column = npt.NDArray[np.generic]


def verdict(
    objective: Objective,
    status: str,
    *,
    ttft_seconds: float | None = None,
    tpot_seconds: float | None = None,
    e2e_seconds: float | None = None,
    output_tokens: int | None = None,
    length_bucket: str | None = None,
) -> str:
    """Return "good", "bad", "excluded" or "outside" (no threshold covers its length bucket).

    An ok request that lacks a latency that the objective needs cannot be judged and is excluded, except that a
    request of at most one output token has no TPOT and meets any (as vLLM's goodput has it).
    """
    values = {"ttft_seconds": ttft_seconds, "tpot_seconds": tpot_seconds, "e2e_seconds": e2e_seconds}
    limits = {threshold.metric: threshold.limit(length_bucket) for threshold in objective.thresholds}
    if any(limit is None for limit in limits.values()):
        return OUTSIDE
    if status in EXCLUDED_STATUSES:
        return EXCLUDED
    if status in BAD_STATUSES:
        return BAD
    for metric, limit in limits.items():
        value = values[metric]
        if value is not None and limit is not None and value > limit:
            return BAD
    if status == "aborted":
        return GOOD if ttft_seconds is not None else BAD
    unneeded = "tpot_seconds" if output_tokens is not None and output_tokens <= 1 else ""
    unmeasured = any(values[metric] is None for metric in limits if metric != unneeded)
    return EXCLUDED if unmeasured or status != "ok" else GOOD


def verdicts(objective: Objective, requests: Mapping[str, Column]) -> npt.NDArray[np.object_]:
    """Return the verdict of each row of request columns (named as in the view `requests`; NaN and None = missing)."""
    status = requests["status"]
    bucket = requests.get("length_bucket", np.full(len(status), None, dtype=object))
    outside = np.zeros(len(status), dtype=bool)
    violated = np.zeros(len(status), dtype=bool)
    unmeasured = np.zeros(len(status), dtype=bool)
    for threshold in objective.thresholds:
        limit = _limits(threshold.limit, bucket)
        value = requests[threshold.metric].astype(np.float64)
        outside |= np.isnan(limit)
        violated |= value > limit
        missing = np.isnan(value)
        if threshold.metric == "tpot_seconds":
            missing &= ~(requests["output_tokens"].astype(np.float64) <= 1)
        unmeasured |= missing
    begun = ~np.isnan(requests["ttft_seconds"].astype(np.float64))
    found = np.full(len(status), GOOD, dtype=object)
    found[unmeasured | (status != "ok")] = EXCLUDED
    aborted = status == "aborted"
    found[aborted] = np.where(begun[aborted], GOOD, BAD)
    found[violated | np.isin(status, BAD_STATUSES)] = BAD
    found[np.isin(status, EXCLUDED_STATUSES)] = EXCLUDED
    found[outside] = OUTSIDE
    return found


def _limits(limit: object, bucket: Column) -> npt.NDArray[np.float64]:
    """Return the limit of every row in seconds, NaN where none covers it."""
    assert callable(limit)
    names, places = np.unique(np.array([name or "" for name in bucket.tolist()], dtype=object), return_inverse=True)
    found = [limit(str(name) or None) for name in names]
    return np.array([np.nan if one is None else one for one in found], dtype=np.float64)[places]
