"""What GPUs and hosts of each instance did before and during; knows nothing of requests."""

from __future__ import annotations

import numpy as np

from analytics.rootcause.panel import Panel
from analytics.rootcause.scene import Scene
from analytics.rootcause.shift import Shift


def hosts_of(scene: Scene) -> dict[str, str]:
    """Return the host of each instance, from the lives of instances and from GPU samples."""
    found: dict[str, str] = {}
    for columns in (scene.observations.instances, scene.observations.gpus):
        if columns and "host" in columns:
            for instance, host in zip(columns["instance"].tolist(), columns["host"].tolist(), strict=True):
                if instance is not None and host is not None:
                    found[str(instance)] = str(host)
    return found


def worst(panel: Panel, signal: str, direction: int = 1) -> tuple[str, Shift] | None:
    """Return the source whose signal rose (direction 1) or fell (-1) most in absolute terms."""
    shifts = panel.by_source(signal)
    if not shifts:
        return None
    name = max(shifts, key=lambda source: direction * shifts[source].rise)
    return name, shifts[name]


def peers(panel: Panel, signal: str, source: str) -> Shift | None:
    """Return the mean shift of all other sources, what a lone offender is compared with."""
    others = [shift for name, shift in panel.by_source(signal).items() if name != source]
    if not others:
        return None
    return Shift(
        signal, float(np.mean([item.before for item in others])), float(np.mean([item.during for item in others]))
    )


def faults(scene: Scene) -> dict[str, list[str]]:
    """Return GPU events around the incident by instance (else host), e.g. {"pod-1": ["xid 79"]}."""
    events = scene.observations.gpu_events
    if not events or not len(events["ts"]):
        return {}
    low = scene.observations.start - np.timedelta64(900, "s")
    at_host: dict[str, list[str]] = {}
    for instance, host in hosts_of(scene).items():
        at_host.setdefault(host, []).append(instance)
    of_gpu = _gpus(scene)
    found: dict[str, list[str]] = {}
    for index in np.flatnonzero((events["ts"] >= low) & (events["ts"] <= scene.observations.end)):
        kind, code = str(events["kind"][index]), events["code"][index]
        if "driver" in kind:
            continue
        text = kind if code is None or code != code else f"{kind} {int(code)}"
        host = str(events["host"][index])
        names = of_gpu.get(str(events["gpu"][index])) or at_host.get(host) or [host]
        for name in names:
            found.setdefault(name, []).append(text)
    return found


def _gpus(scene: Scene) -> dict[str, list[str]]:
    columns = scene.observations.gpus
    found: dict[str, list[str]] = {}
    if columns and "gpu_names" in columns:
        for instance, names in zip(columns["instance"].tolist(), columns["gpu_names"].tolist(), strict=True):
            for name in str(names or "").split(","):
                if instance is not None and instance not in found.setdefault(name, []):
                    found[name].append(str(instance))
    return found
