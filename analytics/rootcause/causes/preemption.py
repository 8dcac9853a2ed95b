"""Says whether KV memory ran full so that running requests were thrown out and recomputed; never mere waiting."""

from __future__ import annotations

from analytics.rootcause.facts.demand import input_weight
from analytics.rootcause.facts.seats import Seats, fullest, seat_limit
from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, judge, peaked, ramp, steady, told
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift

#: Taken off where prompts of another size filled the memory: full memory is then what they did.
FLOODED = 0.7
#: How full memory is taken to be where requests are thrown out and no scrape saw it full.
UNSEEN = 0.7


def weigh(scene: Scene) -> Finding:
    where = _worst(scene)
    kv = scene.engine.shift("kv_usage_max_ratio", where) or scene.engine.shift("kv_usage_ratio", where)
    peak = scene.engine.shift("kv_peak", where)
    thrown = scene.engine.total("preemptions", where)
    if kv is None:
        return cannot_tell("kv_usage_ratio", "preemptions")
    highest = peak.peak if peak is not None else kv.peak
    full = Shift(kv.signal, kv.before, kv.during, kv.spread, kv.low, max(highest, kv.peak))
    seats = fullest(scene)
    under = None
    if seats is not None and seats.running is not None and seats.cap and seats.cap_before:
        under = ramp(seats.running.during / max(seats.cap, seats.cap_before), 1.0, 0.8)
    out = 0.0 if thrown is None else _thrown(scene, thrown, where) or 0.0
    # Rare scrapes miss the moments at which memory is full; a counter of requests thrown out misses none.
    filled = max(ramp(full.peak, 0.85, 0.95) or 0.0, UNSEEN * out)
    clauses = [
        Clause("kv_usage_ratio", filled, 1, peaked(full, "KV memory is full"), gate=True),
        Clause(
            "preemptions",
            max(out, _refused(scene, seats)),
            3,
            peaked(thrown, "running requests were preempted"),
            gate=True,
        )
        if thrown is not None
        else Clause("preemptions", None),
        Clause("input_tokens", 1.0 - FLOODED * _flooded(scene), gate=True),
        Clause("kv_usage_ratio", max(ramp(full.rise, 0.05, 0.3) or 0.0, UNSEEN * out), 1),
        Clause("running", under, 0.5, told(seats.running, "fewer run than there are seats") if seats else None),
        Clause("queue_depth", ramp(seats.queue.peak, 0, 3), 0.5, peaked(seats.queue, "requests wait"))
        if seats
        else Clause("queue_depth", None),
        Clause("requests", steady(scene.arrivals, 1.3, 2.2), 1.5, told(scene.arrivals, "not simply more requests")),
    ]
    return judge(_segment(scene, where), clauses)


def _thrown(scene: Scene, thrown: Shift, where: str | None) -> float | None:
    """Say how far preemptions rose beyond the usual, both in number and per request that got its first token."""
    steps = max(len(scene.observations.during_steps), 1)
    events, usual = thrown.during * steps, thrown.before * steps
    first = scene.engine.total("first_tokens", where)
    served = first.during * steps if first is not None and first.during > 0 else None
    per_request = 1.0 if served is None else ramp((events - usual) / served, 0.01, 0.08) or 0.0
    return min(ramp(events - usual, 1, 4) or 0.0, ramp((events + 0.5) / (usual + 0.5), 1.5, 4) or 0.0, per_request)


def _refused(scene: Scene, seats: Seats | None) -> float:
    """Say how far memory keeps requests out before any is thrown out: it is full while they wait and seats are free."""
    if seats is None or seats.cap is None:
        return 0.0
    limit = seat_limit(scene, seats.instance) or seats.cap_before
    free = 0.6 if not limit else ramp(seats.cap / max(limit, seats.cap), 0.95, 0.75) or 0.0
    return 0.9 * min(ramp(seats.filled, 0.3, 0.7) or 0.0, free)


def _flooded(scene: Scene) -> float:
    """Say how far prompts of another size filled the memory: most input tokens come in a bucket that hardly had any."""
    weight, shares = input_weight(scene), scene.requests.shares("length_bucket", "input_tokens")
    if weight is None or not shares:
        return 0.0
    grown = max(during - before for before, during in shares.values())
    return min(ramp(weight.ratio, 2.5, 5.0) or 0.0, ramp(grown, 0.3, 0.6) or 0.0)


def _worst(scene: Scene) -> str | None:
    preempted = scene.engine.by_source("preemptions")
    if not preempted or max(shift.rise for shift in preempted.values()) <= 0:
        return None
    return max(preempted, key=lambda name: preempted[name].rise)


def _segment(scene: Scene, where: str | None) -> dict[str, str]:
    """Name the instance only where it alone suffers."""
    preempted = scene.engine.by_source("preemptions")
    if where is None or len(preempted) < 2:
        return {}
    total = sum(max(shift.rise, 0.0) for shift in preempted.values())
    return {"instance": where} if preempted[where].rise > 0.7 * total else {}


CAUSE = Cause(
    "preemption",
    "KV memory is full and running requests are preempted",
    "capacity",
    ("kv_usage_ratio", "preemptions"),
    ("queue", "prefill", "decode", "other", "transfer"),
    # Whatever makes answers take longer keeps more of them in memory at once.
    (
        "config_regression",
        "routing_hotspot",
        "region_loss",
        "fewer_instances",
        "grammar_cpu",
        "gpu_throttle",
        "gpu_fault",
        "noisy_neighbour",
        "acceptance_drop",
        "release_regression",
    ),
    "Compare KV capacity in tokens with running × their length; count recomputed tokens.",
    "More KV memory (fewer weights per GPU, quantised KV), fewer seats, or a length limit.",
    weigh,
)
