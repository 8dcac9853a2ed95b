"""Breaks a fleet in one of 26 ways at any severity, and says what would be right and what an expert needs to tell it.

`Told` lists sets of recordings of which any one suffices; where all lack, `instead` and "inconclusive" are right too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp

import numpy as np

from benchmarks.faultlab.foreign.fleet import Curve, Fleet, Truth
from benchmarks.faultlab.foreign.traffic import draw_requests, draw_times

Segment = dict[str, str]


def _truth(
    fleet: Fleet,
    cause: str,
    segments: Sequence[Segment],
    told: Sequence[str],
    instead: Sequence[str] = (),
    metric: str = "ttft",
) -> None:
    fleet.truth = Truth((cause,), list(segments), frozenset(told), tuple(instead), metric)


def _named(fleet: Fleet, places: Sequence[int]) -> list[Segment]:
    """Return the segments that say `places`: each of them, or everything where they are most of the fleet."""
    segments: list[Segment] = [{"instance": fleet.habits.instances[place]} for place in places]
    return [*segments, {}] if len(places) > 1 else segments


def _owner(fleet: Fleet) -> int | None:
    """Return a tenant with a name, None where all are meant."""
    named = [i for i, name in enumerate(fleet.habits.tenants) if name is not None]
    return int(fleet.rng.choice(named)) if len(named) > 1 and fleet.rng.random() < 0.5 else None


def _of(fleet: Fleet, owner: int | None) -> list[Segment]:
    name = None if owner is None else fleet.habits.tenants[owner]
    return [{}] if name is None else [{"tenant": name}]


def _during(fleet: Fleet) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say which requests the fault reaches while it builds up and holds."""
    return np.asarray(fleet.rng.random(len(fleet.traffic.t)) < fleet.levels(fleet.traffic.t))


def traffic_spike(f: Fleet) -> None:
    """More of everybody or of one tenant."""
    owner = _owner(f)
    t = draw_times(f.rng, f.habits, f.rate * f.some(1.0, 5.0), f.habits.since, f.habits.until)
    t = t[f.rng.random(len(t)) < f.levels(t)]
    f.traffic = f.traffic.joined(draw_requests(f.rng, f.habits, f.customs, t, owner))
    _truth(f, "traffic_spike", [{}, *_of(f, owner)], ["requests", "pages"])


def fewer_instances(f: Fleet) -> None:
    """Part of the fleet goes away without a word."""
    for place in f.places(f.some(0.3, 0.75))[: f.size - 1]:
        f.gone[place] = f.habits.since + float(f.rng.uniform(0, max(f.habits.ramp, 1)))
    _truth(f, "fewer_instances", [{}], ["lives", "pages", "requests+instances"])


def slow_start(f: Fleet) -> None:
    """New instances answer before they are warm."""
    places = f.places(f.some(0.1, 0.4))[: f.size - 1]
    warm = min(float(f.rng.uniform(120, 500)), 0.7 * (f.habits.until - f.habits.since))
    for place in places:
        f.born[place] = f.habits.since
        peak = f.some(4, 25)
        f.bends.append(([place], "prompt_pace", _warming(f.habits.since, warm, -peak)))
        f.bends.append(([place], "base", _warming(f.habits.since, warm, 0.3 * peak)))
        stalls = np.sort(f.habits.since + f.rng.uniform(0, warm, 8))
        f.pauses[place] = [(float(t), float(f.rng.uniform(0.5, 4))) for t in stalls]
    if f.rng.random() < 0.5:
        f.changes.append({"t": f.habits.since - 40, "kind": "scale", "summary": f"scaled up by {len(places)}"})
    told = ["lives", "pages", "requests+instances"]
    _truth(f, "slow_start", _named(f, places), told, ["slow_prefill", "engine_pause"])


def _warming(since: float, warm: float, peak: float) -> Curve:
    """Return a factor that begins at 1 + `peak` (1 / (1 - `peak`) where negative) and comes down to 1."""

    def curve(t: float) -> float:
        left = exp(-max(t - since, 0.0) / warm)
        return 1 + peak * left if peak > 0 else 1 / (1 - peak * left)

    return curve


def _shut(f: Fleet, period: float, share: float, phase: float) -> Curve:
    """Return 0 for a `share` of every `period` while the fault lasts, else 1."""
    return lambda t: 0.0 if f.level(t) > 0 and (t + phase) % period < share * period else 1.0


def routing_hotspot(f: Fleet) -> None:
    """The router sticks to one instance."""
    place = int(f.rng.integers(f.size))
    f.pull[place] = f.some(min(2.5 / f.size, 0.6), 0.8)
    _truth(f, "routing_hotspot", _named(f, [place]), ["pages", "requests+instances"], ["admission_blocked"])


def long_requests(f: Fleet) -> None:
    """A few very long prompts arrive, of one tenant or several."""
    owner = _owner(f)
    share = f.some(0.01, 0.08)
    t = draw_times(f.rng, f.habits, f.rate * share, f.habits.since, f.habits.until)
    more = draw_requests(f.rng, f.habits, f.customs, t, owner)
    more.prompt = f.rng.integers(24_000, 110_000, len(t))
    more.cached = np.zeros(len(t), dtype=np.int64)
    f.controls["memory"] = max(f.controls["memory"] * 2, 400_000.0)
    f.traffic = f.traffic.joined(more)
    lengths: list[Segment] = [{"length_bucket": name} for name in ("16k-64k", "64k-256k")]
    _truth(f, "long_requests", [{}, *lengths, *_of(f, owner)], ["requests", "pages"])


def prefix_miss(f: Fleet) -> None:
    """Prompts that were cached are computed again: everywhere, of one tenant, or on one restarted instance."""
    f.customs.hit[:] = f.rng.uniform(0.6, 0.9, len(f.customs.hit))
    traffic = f.traffic
    traffic.prompt = (traffic.prompt * 2.5).astype(np.int64).clip(16, 30_000)
    traffic.cached = (traffic.prompt * f.rng.beta(9, 2, len(traffic.t))).astype(np.int64) // 16 * 16
    owner = _owner(f)
    hit = _during(f) & ((traffic.tenant == owner) if owner is not None else True)
    keep = f.rng.uniform(0, 0.2) + 0.5 * (1 - f.habits.severity)
    traffic.cached = np.where(hit, (traffic.cached * keep).astype(np.int64), traffic.cached)
    f.controls["memory"] *= 3
    _truth(f, "prefix_miss", _of(f, owner), ["cached", "pages"], ["slow_prefill"])


def preemption(f: Fleet) -> None:
    """Memory for tokens shrinks until answers are thrown out."""
    need = f.batch * float(np.mean(f.traffic.prompt + f.traffic.output))
    f.bend(range(f.size), "memory", min(need * f.some(1.1, 0.45) / f.controls["memory"], 0.9))
    _truth(f, "preemption", [{}], ["pages"], ["admission_blocked", "slow_prefill", "engine_pause"])


def admission_blocked(f: Fleet) -> None:
    """Requests are kept out though memory is free: fewer seats, or the door shuts again and again."""
    everyone = list(range(f.size))
    if f.rng.random() < 0.5:
        f.bend(everyone, "seats", max(f.batch * f.some(1.0, 0.35), 1.0) / f.controls["seats"])
    else:
        period, shut = float(f.rng.uniform(30, 90)), f.some(0.2, 0.6)
        phase = f.rng.uniform(0, period, f.size)
        for place in everyone:
            f.bends.append(([place], "seats", _shut(f, period, shut, float(phase[place]))))
    _truth(f, "admission_blocked", [{}], ["pages"], ["preemption", "config_regression"])


def slow_prefill(f: Fleet) -> None:
    """Prompts take longer to compute, and no instrument says why."""
    places = f.places(1.0 if f.rng.random() < 0.5 else 0.05)
    f.bend(places, "prompt_pace", 1 / f.some(2.0, 10.0))
    _truth(f, "slow_prefill", _named(f, places) if len(places) < f.size else [{}], ["requests+stages", "pages"])


def release_regression(f: Fleet) -> None:
    """A new version is slower; the old one goes on beside it, or not."""
    share = float(f.rng.choice([0.3, 0.5, 1.0]))
    places = f.places(share)
    start = f.habits.since - float(f.rng.uniform(0, 120))
    for place in places:
        f.moved[place] = (f.habits.since, "2026.11-rc2")
        f.restarted[place] = f.habits.since
    f.bend(places, "prompt_pace", 1 / f.some(1.8, 6.0))
    f.bend(places, "base", f.some(1.1, 2.0))
    f.changes.append(
        {"t": start, "kind": "release", "summary": "2026.11-rc2 rolled out", "model_version": "2026.11-rc2"}
    )
    segments = [{"model_version": "2026.11-rc2"}, *(_named(f, places) if len(places) < f.size else [{}])]
    _truth(f, "release_regression", [*segments, {}], ["requests+versions", "changes"], ["slow_prefill"])


def config_regression(f: Fleet) -> None:
    """A setting is changed for the worse, and the change log has it."""
    places = f.places(float(f.rng.choice([0.5, 1.0])))
    what = str(f.rng.choice(["seats", "budget", "memory"]))
    factor = {
        "seats": max(f.batch * f.some(0.9, 0.35), 1.0) / f.controls["seats"],
        "budget": f.some(256, 96) / f.controls["budget"],
        "memory": f.batch * float(np.mean(f.traffic.prompt + f.traffic.output)) * f.some(1.0, 0.45)
        / f.controls["memory"],
    }[what]  # fmt: skip
    f.bend(places, what, min(factor, 0.9))
    name = {"seats": "max_num_seqs", "budget": "max_num_batched_tokens", "memory": "gpu_memory_utilization"}[what]
    f.changes.append({
        "t": f.habits.since - float(f.rng.uniform(0, 90)), "kind": "config", "summary": f"{name} lowered",
        "source": "argocd",
    })  # fmt: skip
    other = ["admission_blocked", "preemption", "slow_prefill"]
    _truth(f, "config_regression", [*_named(f, places), {}], ["changes"], other)


def noisy_neighbour(f: Fleet) -> None:
    """Something else on a host takes its CPU."""
    host = str(f.rng.choice(f.habits.hosts))
    places = [i for i, name in enumerate(f.habits.hosts) if name == host]
    f.bend(places, "base", f.some(2.0, 8.0))
    f.bend(places, "prompt_pace", 1 / f.some(1.5, 5.0))
    more = f.some(0.15, 0.6)
    f.pressure[host] = {"cpu_pressure_ratio": more, "cpu_ratio": 0.3 + 0.5 * more}
    for place in places:
        f.gpu[place] = {"sm_active_ratio": 0.6}
    _truth(f, "noisy_neighbour", _named(f, places), ["hosts"], ["slow_prefill", "engine_pause"])


def gpu_throttle(f: Fleet) -> None:
    """Clocks fall, by heat or by a cap of power."""
    places = f.places(float(f.rng.choice([0.05, 0.05, 0.5])))
    ratio = f.some(0.8, 0.3)
    f.bend(places, "prompt_pace", ratio**2)
    f.bend(places, "base", ratio**-0.5)
    for place in places:
        reason = str(f.rng.choice(["sw_thermal_slowdown", "sw_power_cap", "hw_slowdown"]))
        f.gpu[place] = {"sm_clock_mhz": ratio, "throttle": reason, "power_watts": 0.5 + 0.5 * ratio, "heat": 14.0}
    _truth(f, "gpu_throttle", _named(f, places), ["gpus"], ["slow_prefill"])


def gpu_fault(f: Fleet) -> None:
    """A GPU fails: an error is reported, and its instance crawls or stands still."""
    place = int(f.rng.integers(f.size))
    if f.rng.random() < 0.6:
        f.bend([place], "prompt_pace", 1 / f.some(3, 12))
        f.bend([place], "base", f.some(1.5, 4))
    else:
        every = float(f.rng.uniform(40, 90))
        f.pauses[place] = [
            (float(t), f.some(4, 25)) for t in np.arange(f.habits.since, f.habits.until, every)
        ]  # fmt: skip
    kind = int(f.rng.integers(3))
    if kind < 2:
        f.xid.append((place, int(f.rng.choice([48, 63, 79, 94]))))
    if kind > 0:
        f.gpu[place] = {"ecc": 3.0, "remapped": 1.0}
    _truth(f, "gpu_fault", _named(f, [place]), ["gpus"], ["slow_prefill", "engine_pause"])


def region_loss(f: Fleet) -> None:
    """A region goes dark; the others take its requests over a longer way."""
    if len(set(f.habits.regions)) < 2:
        f.habits = replace(f.habits, regions=tuple(("eu-west-1", "us-east")[place % 2] for place in range(f.size)))
    names = sorted(set(f.habits.regions))
    lost = str(f.rng.choice(names))
    for place, name in enumerate(f.habits.regions):
        if name == lost:
            f.gone[place] = f.habits.since
    f.network = float(f.rng.uniform(0.05, 0.2))
    told = ["lives+regions", "pages+regions", "requests+regions"]
    _truth(f, "region_loss", [{}, {"region": lost}], told, ["fewer_instances", "traffic_spike"])


def output_tail(f: Fleet) -> None:
    """Answers get much longer, of everybody or of one tenant."""
    owner = _owner(f)
    hit = _during(f) & ((f.traffic.tenant == owner) if owner is not None else True)
    f.traffic.output = np.where(hit, f.traffic.output * f.some(2.5, 8.0), f.traffic.output).astype(np.int64).clip(2)
    f.controls["memory"] *= 4
    _truth(f, "output_tail", [{}, *_of(f, owner)], ["requests", "pages"], metric="ttft")


Fault = Callable[[Fleet], None]
