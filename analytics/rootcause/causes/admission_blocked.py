"""Says whether requests wait although memory has room: seats are the limit, or the head of the line blocks the rest."""

from __future__ import annotations

from analytics.rootcause.facts.backlog import backlog_of
from analytics.rootcause.facts.seats import Seats, fullest, seat_limit
from analytics.rootcause.form import (
    SPEAKS_FOR,
    Cause,
    Clause,
    Evidence,
    Finding,
    cannot_tell,
    judge,
    peaked,
    ramp,
    steady,
    told,
)
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    seats = fullest(scene)
    if seats is None or seats.kv is None or seats.running is None:
        return cannot_tell("queue_depth", "running", "kv_usage_ratio")
    thrown = scene.engine.total("preemptions", seats.instance)
    clauses = [
        Clause("queue_depth", ramp(seats.queue.peak, 1, 5), 1, peaked(seats.queue, "requests wait"), gate=True),
        Clause(
            "kv_usage_ratio",
            ramp(seats.kv_usual, 0.92, 0.75),
            2,
            peaked(seats.kv, "KV memory has room while they wait: it is innocent"),
            gate=True,
        ),
        Clause("queue_seconds", scene.stage_share("queue"), 1, gate=True),
        Clause("running", _blocked(scene, seats), 2, _running(scene, seats)),
        Clause("preemptions", None if thrown is None else ramp(thrown.during, 0.5, 0.0), 0.5, told(thrown, "none")),
        Clause("requests", _unforced(scene), 2.5, _trigger(scene)),
        Clause("kv_usage_ratio", ramp(seats.kv_usual, 0.75, 0.5), 1),
    ]
    return judge(_segment(scene, seats), clauses)


def _blocked(scene: Scene, seats: Seats) -> float | None:
    """Say how far admission itself is the limit: running stands at its cap, or below what it used to reach."""
    if seats.cap is None or seats.pinned is None or seats.running is None:
        return None
    limit = seat_limit(scene, seats.instance)
    below = ramp(seats.cap / max(limit or seats.cap_before or seats.cap, 1.0), 1.0, 0.7) or 0.0
    # Seats that stand empty beside a queue: the head of the line, or the scheduler, holds it up.
    empty = ramp(seats.idle, 0.1, 0.4) or 0.0 if seats.cap >= 3 else 0.0
    return max(ramp(seats.pinned, 0.2, 0.7) or 0.0, below, empty)


def _unforced(scene: Scene) -> float | None:
    """Say how far demand does not excuse the queue: arrivals stood, or a burst is over and its backlog stands."""
    calm, backlog = steady(scene.arrivals, 1.15, 1.8), backlog_of(scene)
    return calm if backlog is None else max(calm or 0.0, backlog.unforced)


def _trigger(scene: Scene) -> Evidence | None:
    backlog = backlog_of(scene)
    if backlog is None or backlog.unforced < SPEAKS_FOR:
        return told(scene.arrivals, "arrivals per second")
    why = f"a burst of {backlog.coming:.3g} a second began it; as many as usual arrive while the queue stands"
    return told(backlog.arrivals, why)


def _running(scene: Scene, seats: Seats) -> Evidence | None:
    if seats.running is None or seats.cap is None:
        return None
    limit = seat_limit(scene, seats.instance)
    if limit is not None and seats.cap < 0.9 * limit:
        why = f"running stays below its {limit:g} seats while requests wait: the head of the line blocks"
    else:
        why = f"running stands at {seats.cap:g}: admission by max sequences"
    return Evidence("running", seats.running.before, seats.cap, why, seats.running.low, seats.cap)


def _segment(scene: Scene, seats: Seats) -> dict[str, str]:
    queues = scene.engine.by_source("queue_depth")
    total = sum(max(shift.rise, 0.0) for shift in queues.values())
    if len(queues) > 1 and queues[seats.instance].rise > 0.7 * total:
        return {"instance": seats.instance}
    return {}


#: Whatever brings more work, slows the work or takes seats away makes requests wait for admission as well.
RIVALS = (
    "traffic_spike", "config_regression", "routing_hotspot", "fewer_instances", "region_loss", "output_tail",
    "long_requests", "slow_prefill", "release_regression", "gpu_throttle", "gpu_fault", "noisy_neighbour",
    "slow_scoring", "speculation_overhead", "acceptance_drop", "grammar_cpu", "adapter_swap", "cache_tier_slow",
)  # fmt: skip

CAUSE = Cause(
    "admission_blocked",
    "Requests wait for admission although KV memory has room",
    "capacity",
    ("queue_depth", "running", "kv_usage_ratio"),
    ("queue",),
    RIVALS,
    "Compare running with max sequences, and the first waiting request's length with the free KV blocks.",
    "Raise max sequences while KV has room; let short requests pass a blocked long one.",
    weigh,
)
