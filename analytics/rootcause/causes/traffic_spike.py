"""Says whether more requests came than the fleet has seats for; never where engines themselves became slower."""

from __future__ import annotations

from math import inf, log

from analytics.rootcause.facts.backlog import backlog_of
from analytics.rootcause.facts.demand import brought_by, input_length, surprise, unusual
from analytics.rootcause.facts.seats import Seats, fullest
from analytics.rootcause.facts.service import prefill_pace
from analytics.rootcause.form import Cause, Clause, Finding, judge, peaked, ramp, rose, steady, told
from analytics.rootcause.scene import Scene

#: Taken off where the rise is over and its backlog stands before free memory: then what admits is the limit.
PAST = 0.7
#: What is left of the cause where calm history was as busy at times.
SERVED_BEFORE = 0.4
#: What is left of the cause where the tokens grew by longer prompts and hardly by more of them.
LEAST = 0.3


def weigh(scene: Scene) -> Finding:
    arrivals, seats, pace, backlog = scene.arrivals, fullest(scene), prefill_pace(scene), backlog_of(scene)
    past = backlog.unforced if backlog is not None and _room(seats) else 0.0
    segment = brought_by(scene)
    clauses = [
        Clause("requests", rose(arrivals, 1.08, 1.3), 2, told(arrivals, "more requests arrived per second"), gate=True),
        Clause("requests", ramp(surprise(arrivals, scene.observations.seconds_during), 3, 6), gate=True),
        Clause(
            "requests",
            1.0 - PAST * past,
            1,
            told(backlog.arrivals, "arrivals while the queue stands") if backlog is not None else None,
            gate=True,
        ),
        Clause("requests", _beyond_usual(scene), gate=True),
        Clause("input_tokens", max(LEAST, ramp(_by_number(scene), 0.15, 0.4) or 0.0), gate=True),
        Clause("queue_seconds", scene.stage_share("queue"), 2),
        Clause("prefill_seconds", steady(pace, 1.3, 2.0), 1, told(pace, "engines compute a token as fast as before")),
        Clause("instance", ramp(_everywhere(scene), 0.3, 0.7), 1.5),
    ]
    if seats is not None:
        clauses += [
            Clause("queue_depth", ramp(seats.queue.peak, 0, 4), 1, peaked(seats.queue, "requests wait for a seat")),
            Clause(
                "running", seats.pinned, 0.5, peaked(seats.running, "every seat is taken: admission by max sequences")
            ),
        ]
        if seats.kv is not None:
            innocent = "KV memory has room: it is innocent" if seats.kv.peak < 0.9 else "KV memory is full as well"
            clauses.append(Clause("kv_usage_ratio", 1.0, 0.2, peaked(seats.kv, innocent)))
    return judge(segment, clauses)


def _beyond_usual(scene: Scene) -> float:
    """Say how far as many requests were never served in calm before."""
    busy = unusual(scene)
    return 1.0 if busy is None else max(SERVED_BEFORE, ramp(busy.ratio, 1.0, 1.15) or 0.0)


def _by_number(scene: Scene) -> float:
    """Return which part of the growth of input tokens per second (in logarithms) is more requests, not longer ones."""
    arrivals, length = scene.arrivals, input_length(scene)
    if arrivals is None or length is None or arrivals.ratio <= 1 or not 1.3 < length.ratio < inf:
        return 1.0
    return log(arrivals.ratio) / (log(arrivals.ratio) + log(length.ratio))


def _room(seats: Seats | None) -> bool:
    """Say whether KV memory had room while requests waited."""
    return seats is not None and seats.kv_usual is not None and seats.kv_usual < 0.75


def _everywhere(scene: Scene) -> float:
    """Return how well "everything got worse" accounts for the rise: a spike of traffic spares no instance."""
    return max(scene.fit({}), 0.5 if not scene.segments else 0.0)


CAUSE = Cause(
    "traffic_spike",
    "More requests arrived than the fleet can serve in time",
    "traffic",
    ("requests",),
    ("queue", "prefill", "decode", "other"),
    ("region_loss", "fewer_instances", "cache_tier_slow", "routing_hotspot"),
    "Compare arrivals per second with the capacity that `scale` measured; see which tenant brought them.",
    "Add instances ahead of the next rise (`scale`, `forecast`), or limit the tenant that brought it.",
    weigh,
)
