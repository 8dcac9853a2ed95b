"""Says whether the measurement changed instead of the service: clocks, sources, time stamps; never a real slowdown."""

from __future__ import annotations

from analytics.rootcause.form import Cause, Clause, Evidence, Finding, hint, judge, ramp, steady, told
from analytics.rootcause.scene import Scene


def weigh(scene: Scene) -> Finding:
    requests = scene.requests
    broken = requests.quotient("incoherent_ratio", "incoherent", "requests")
    whole = requests.quotient("e2e_seconds", "e2e_sum", "e2e_known")
    inner = requests.quotient("queue_and_prefill_seconds", "engine_sum", "engine_known")
    outer = requests.quotient("ttft_seconds", "ttft_sum", "ttft_known")
    source = requests.quotient("from_gateway_ratio", "from_gateway", "requests")
    queue = scene.engine.shift("queue_depth")
    unmoved = None
    if whole is not None and outer is not None:
        # A first token that really came later makes the whole later by as much. Where the whole is long, lengths and
        # load move it by a few per cent anyway and hide what the first token did.
        seen = ramp(outer.rise / max(whole.before, 1e-9), 0.04, 0.12) or 0.0
        unmoved = seen * (ramp(whole.rise / max(outer.rise, 1e-9), 0.7, 0.2) or 0.0) if outer.rise > 0 else 0.0
    signs = [
        ramp(broken.rise, 0.02, 0.2) if broken else None,
        unmoved,
        ramp(abs(source.rise), 0.2, 0.6) if source else None,
    ]
    known = [value for value in signs if value is not None]
    clauses = [
        Clause(
            "e2e_seconds",
            max(known) if known else None,
            2,
            told(whole, "the whole request did not get later"),
            gate=True,
        ),
        Clause("engine_ttft_seconds", steady(inner, 1.15, 1.6), 2, told(inner, "engines' own times stand"), gate=True)
        if inner is not None
        else Clause("engine_ttft_seconds", None),
        Clause("queue_depth", ramp(queue.rise, 2.0, 0.3) if queue else None, 1, told(queue, "no queue formed")),
        Clause(
            "timestamps",
            hint(ramp(broken.rise, 0.0, 0.1)) if broken else None,
            0.3,
            told(broken, "times that contradict each other"),
        ),
        Clause(
            "source",
            hint(ramp(abs(source.rise), 0.1, 0.5)) if source else None,
            0.3,
            told(source, "share measured at the gateway"),
        ),
        Clause(
            "requests",
            steady(scene.arrivals, 1.3, 2.0),
            0.5,
            Evidence("requests_per_second", scene.arrivals.before, scene.arrivals.during, "arrivals")
            if scene.arrivals
            else None,
        ),
    ]
    return judge(scene.along("instance", "tenant", "region") or {}, clauses)


CAUSE = Cause(
    "measurement_artefact",
    "The measurement changed, not the service",
    "serving",
    ("e2e_seconds",),
    ("gateway", "other"),
    (),
    "Compare the client's, the gateway's and the engine's time of the same requests; check clocks.",
    "Correct the clock or the definition; mark the period in the change log.",
    weigh,
)
