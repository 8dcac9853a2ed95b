"""Adds what happens in every service and hurts nobody: deploys, nightly work, new instances, restarts, notes."""

from __future__ import annotations

from benchmarks.faultlab.foreign.fleet import Fleet
from benchmarks.faultlab.foreign.traffic import draw_requests, draw_times


def disturb(f: Fleet) -> None:
    """Apply the nuisances that the habits of the service name."""
    rng, habits = f.rng, f.habits
    for name in habits.nuisances:
        t = float(rng.uniform(max(0.0, habits.since - 3600), habits.until))
        near = rng.random() < 0.3
        if near:
            t = habits.since - float(rng.uniform(0, 600))
        if name == "deploy" and not f.moved:
            # All at once at the onset would be the culprit to anybody; a part of the fleet is as well as the rest.
            part = 0.3 if near or habits.since - 900 < t < habits.until else float(rng.choice([0.3, 1.0]))
            for place in f.places(part if f.size > 2 else 0.0):
                f.moved[place] = (t, "2026.10-1")
            f.changes.append(
                {"t": t - 20, "kind": "release", "summary": "2026.10-1 is out", "model_version": "2026.10-1"}
            )
        elif name == "batch":
            length = float(rng.uniform(600, 3600))
            begin = max(t - length, 0.0)
            more = draw_times(rng, habits, f.rate * 0.15, begin, begin + length)
            f.traffic = f.traffic.joined(draw_requests(rng, habits, f.customs, more[more < habits.horizon], 0))
        elif name == "autoscale" and not (f.born or f.gone) and f.size > 3:
            f.born[f.size - 1] = t
            f.changes.append({"t": t - 5, "kind": "scale", "summary": f"{f.size - 1} to {f.size}"})
        elif name == "restart":
            f.restarted[int(rng.integers(f.size))] = t
        elif name == "note":
            f.changes.append({"t": t, "kind": "note", "summary": "dashboards reordered"})
