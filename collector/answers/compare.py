"""Answers whether one side of a dimension is worse than another, as a canary gate asks; changes no traffic."""

from __future__ import annotations

from datetime import datetime, timedelta

import numpy as np

from analytics.slo import Objective, default_objective, verdicts
from analytics.slo.canary import Comparison, Side, compare_latencies, compare_shares
from analytics.slo.eligibility import BAD, GOOD
from collector.store.reader import Columns, Reader
from signals.errors import UnknownNameError
from signals.lengths import LENGTH_BUCKETS

#: Dimensions of a request that can be compared by.
COMPARABLE: tuple[str, ...] = (
    "model_version", "model", "instance", "pool", "region", "adapter", "tenant", "engine", "domain", "class",
)  # fmt: skip
LATENCIES: tuple[str, ...] = ("ttft_seconds", "tpot_seconds", "e2e_seconds", "queue_seconds")
#: Judges each request by an objective instead of comparing a latency.
GOODPUT = "goodput"
METRICS: tuple[str, ...] = (*LATENCIES, GOODPUT)
#: How much worse B may be: a tenth for a latency's quantile; for goodput the objective's own error budget.
LATENCY_MARGIN = 0.1
WINDOW = timedelta(days=1)
#: More requests than about twice this are sampled by the hash of their id.
MOST_READ = 200_000
#: `compare`'s exit codes.
EXIT_CODES = {"pass": 0, "fail": 3, "inconclusive": 1}


def compare(
    reader: Reader,
    now: datetime,
    *,
    by: str,
    a: str,
    b: str,
    metric: str = "ttft_seconds",
    model: str | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    margin: float | None = None,
    objective: Objective | None = None,
) -> dict[str, object]:
    """Return the contract's {"verdict", "effect", "interval", "n"} of B against A over [start, end), and why.

    `metric` may leave out its unit: ttft is ttft_seconds.
    Latencies: `effect` is the relative change of the highest quantile that both sides support, over answered requests.
    goodput: the difference of the shares of bad requests under `objective` (default: the built-in one).
    """
    metric = f"{metric}_seconds" if f"{metric}_seconds" in METRICS else metric
    for kind, name, known in (("dimension", by, COMPARABLE), ("metric", metric, METRICS)):
        if name not in known:
            raise UnknownNameError(kind, name, known)
    closes = end or now
    span = {"since": start or closes - WINDOW, "until": closes + timedelta(microseconds=1), "by": by, "model": model}
    every = _one_in(reader, span, by, (a, b))
    columns = reader.columns("compare_requests", **span, a=a, b=b, every=every)
    judge = objective or default_objective()
    sides = [_side(columns, name, metric, judge) for name in (a, b)]
    if metric == GOODPUT:
        tolerated = 1 - judge.target if margin is None else margin
        found = compare_shares(sides[0], sides[1], margin=tolerated)
    else:
        tolerated = LATENCY_MARGIN if margin is None else margin
        found = compare_latencies(sides[0], sides[1], margin=tolerated)
    return _answer(found, by, (a, b), metric, tolerated, (*_apart(sides), *_sampled(every)))


def _answer(
    found: Comparison, by: str, names: tuple[str, str], metric: str, margin: float, apart: tuple[str, ...]
) -> dict[str, object]:
    values = (found.a_value, found.b_value)
    return {
        "verdict": found.verdict,
        "effect": found.effect,
        "interval": [found.low, found.high],
        "n": list(found.counts),
        "by": by,
        "metric": metric,
        "quantile": found.quantile,
        "margin": margin,
        "sides": [{"name": name, "value": value} for name, value in zip(names, values, strict=True)],
        "because": found.because,
        "caveats": [*found.caveats, *apart],
    }


def _side(columns: Columns, name: str, metric: str, objective: Objective) -> Side:
    kept = columns["side"] == name
    own = {key: column[kept] for key, column in columns.items()}
    if metric == GOODPUT:
        judged = verdicts(objective, own)
        used = np.isin(judged, (GOOD, BAD))
        values = (judged == BAD).astype(np.float64)
    else:
        values = own[metric].astype(np.float64)
        used = (own["status"] == "ok") & ~np.isnan(values)
    places = {bucket: place for place, bucket in enumerate(LENGTH_BUCKETS, start=1)}
    strata = np.array([places.get(bucket, 0) for bucket in own["length_bucket"].tolist()], dtype=np.int64)
    return Side(values[used], own["at_seconds"].astype(np.float64)[used], strata[used])


def _apart(sides: list[Side]) -> tuple[str, ...]:
    """Return a caveat where the two sides did not serve at the same time."""
    if any(len(side.values) == 0 for side in sides):
        return ()
    opens = max(float(side.at_seconds.min()) for side in sides)
    closes = min(float(side.at_seconds.max()) for side in sides)
    if closes > opens:
        return ()
    return ("the two sides did not serve at the same time: load and time of day may differ",)


def _one_in(reader: Reader, span: dict[str, object], by: str, names: tuple[str, str]) -> int:
    """Return which share of requests to read (one in so many); raises for a side that nothing was recorded of."""
    columns = reader.columns("compare_values", **span)
    seen: dict[str, int] = dict(zip(columns["side"].tolist(), map(int, columns["requests"].tolist()), strict=True))
    for name in names:
        if name not in seen:
            raise UnknownNameError(by, name, map(str, seen))
    return max(1, sum(seen[name] for name in set(names)) // MOST_READ)


def _sampled(every: int) -> tuple[str, ...]:
    return (f"one request in {every} was compared",) if every > 1 else ()
