"""Says whether a new model version serves worse than the old one; never a release that merely happened nearby."""

from __future__ import annotations

from analytics.rootcause.facts.service import acceptance, decode_pace, hit_ratio, prefill_pace
from analytics.rootcause.form import (
    Cause,
    Clause,
    Evidence,
    Finding,
    cannot_tell,
    hint,
    judge,
    ramp,
    rose,
    steady,
    told,
)
from analytics.rootcause.scene import Scene

#: What is left of the cause where the new version had served well before the onset.
NOT_NEW = 0.35
#: It had if it took this share of the history: a roll-out that has just begun, or builds up, proves nothing.
LONG_ENOUGH = 0.08


def weigh(scene: Scene) -> Finding:
    shares = scene.requests.shares("model_version")
    released = [change for change in scene.changes if change.kind == "release" and change.weight > 0.1]
    if not shares and not released:
        return cannot_tell("model_version", "changes")
    new = _newcomer(shares)
    if new is None:
        return _unversioned(scene, released[0].weight if released else 0.0, bool(shares))
    segment = {"model_version": new}
    before, during = shares[new]
    alone = during > 0.95
    # A complete rollout leaves nobody to compare with: the whole got worse just as well.
    fit = max(scene.fit({}), scene.fit(segment)) if alone else scene.fit(segment)
    if scene.focus.get("model_version") == new:  # the best segment may be a part of the new version's requests
        fit = 1.0
    aligned = max((c.weight for c in released if c.scope.get("model_version", new) == new), default=0.0)
    worse = _worse(scene, segment)
    clauses = [
        Clause("model_version", NOT_NEW if _served_well(scene, segment) else 1.0, gate=True),
        Clause(
            "model_version",
            ramp(during - before, 0.03, 0.1),
            1,
            Evidence("model_version_share", before, during, f"{new} took over this share of the traffic"),
            gate=True,
        ),
        Clause("model_version", ramp(fit, 0.55, 0.9), 3, gate=True),
        Clause("model_version", ramp(scene.recall(segment), 0.4, 0.8), 2, gate=True),
        Clause("changes", hint(ramp(aligned, 0.0, 0.3)), 1),
        *worse,
        Clause("requests", steady(scene.arrivals, 1.25, 2.0), 1 if not alone else 2, None),
    ]
    return judge(segment, clauses)


def _served_well(scene: Scene, segment: dict[str, str]) -> bool:
    """Say whether the new version served well before: as bad as now, it would have shown it in what it served."""
    mask = scene.requests.inside(segment)
    old, now = (
        (scene.requests.sum(phase, "events", mask), scene.requests.sum(phase, "bad", mask))
        for phase in ("before", "during")
    )
    told = old[0] * now[1] / max(now[0], 1.0)
    whole = scene.requests.sum("before", "events")
    return told >= 8.0 and old[1] < 0.25 * told and old[0] > LONG_ENOUGH * whole


def _newcomer(shares: dict[str, tuple[float, float]]) -> str | None:
    """Return the version that took over traffic, None where shares stood."""
    if not shares:
        return None
    name = max(shares, key=lambda level: shares[level][1] - shares[level][0])
    before, during = shares[name]
    return name if during - before > 0.03 and before < 0.3 * during else None


def _worse(scene: Scene, segment: dict[str, str]) -> list[Clause]:
    """Return what a new version can do worse; the strongest alone counts, as versions rarely fail in every way."""
    told_by = [
        ("prefill_seconds", prefill_pace(scene), "a prompt token costs more time"),
        ("tpot_seconds", decode_pace(scene), "an output token costs more time"),
    ]
    scored = [(rose(shift, 1.1, 1.4) or 0.0, name, told(shift, why)) for name, shift, why in told_by]
    for name, shift in (
        ("cached_tokens", hit_ratio(scene, segment)),
        ("spec_accepted_tokens", acceptance(scene, segment)),
    ):
        if shift is not None:
            scored.append((ramp(shift.rise, -0.03, -0.15) or 0.0, name, told(shift, "fell with the new version")))
    holds, name, evidence = max(scored, key=lambda item: item[0])
    return [Clause(name, holds, 1, evidence)]


def _unversioned(scene: Scene, weight: float, versions_known: bool) -> Finding:
    """Judge a release in the change log that left no trace in the requests' version."""
    pace = prefill_pace(scene, scene.focus)
    clauses = [
        # Where nobody tells versions, a release of one can never agree with the segment.
        Clause("changes", ramp(weight, 0.2, 0.6) if versions_known else ramp(weight, 0.1, 0.4), 1, gate=True),
        Clause("model_version", 0.3 if versions_known else 0.7, 1, gate=True),
        Clause("prefill_seconds", rose(pace, 1.1, 1.5), 1, told(pace, "a prompt token costs more time")),
        Clause("requests", steady(scene.arrivals, 1.15, 1.5), 1, told(scene.arrivals, "arrivals did not rise")),
    ]
    return judge(scene.focus, clauses)


CAUSE = Cause(
    "release_regression",
    "A new model version serves worse than the one before",
    "serving",
    ("model_version",),
    ("queue", "prefill", "decode", "other", "transfer", "gateway"),
    ("gpu_fault", "fewer_instances", "region_loss"),
    "Run `compare --by model_version` old against new on the same traffic.",
    "Roll back, then bisect what changed between the versions.",
    weigh,
)
