"""Says whether KV moves slowly from prefill to decode instances; never the time that either side computes."""

from __future__ import annotations

from analytics.rootcause.form import Cause, Clause, Finding, cannot_tell, hint, judge, ramp, rose, told
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


def weigh(scene: Scene) -> Finding:
    moved = scene.requests.quotient("transfer_seconds", "transfer_sum", "transfer_known")
    per_byte = scene.engine.quotient("kv_transfer_seconds_per_byte", "kv_transfer_seconds", "kv_transfer_bytes")
    if moved is None and per_byte is None:
        return cannot_tell("transfer_seconds", "kv_transfer_seconds")
    share = scene.stage_share("transfer") if moved is not None else None
    network = _errors(scene)
    segment = scene.along("instance", "prefill_instance", "region") or {}
    slower = max(rose(moved, 1.3, 2.0) or 0.0, rose(per_byte, 1.3, 2.0) or 0.0)
    clauses = [
        Clause("transfer_seconds", slower, 2, told(moved or per_byte, "moving KV takes longer"), gate=True),
        Clause("stage", ramp(share, 0.1, 0.5), 3, gate=share is not None),
        Clause("kv_transfer_seconds", rose(per_byte, 1.2, 2.0), 1, told(per_byte, "seconds per byte moved")),
        Clause(
            "rdma_errors", hint(ramp(network.rise, 0, 1)) if network else None, 0.3, told(network, "errors on the wire")
        ),
    ]
    return judge(segment, clauses)


def _errors(scene: Scene) -> Shift | None:
    return scene.hosts.total("rdma_errors") or scene.hosts.total("nic_errors")


CAUSE = Cause(
    "kv_transfer_stall",
    "KV moves slowly from prefill to decode",
    "serving",
    ("transfer_seconds",),
    ("transfer", "queue", "other", "decode"),
    (),
    "Compare transfer seconds per byte by pair of instances; look at free KV blocks of decode and RDMA errors.",
    "Bound prefill by what decode can take; repair the path between them.",
    weigh,
)
