"""Breaks a world in one of many ways, at a severity of 0, 1 or 2; says what was broken, where and in which stage."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmarks.faultlab.engine import P
from benchmarks.faultlab.world import World, add, columns

Fault = Callable[[World, int], None]


def _pick(world: World, share: float = 0.5) -> list[int] | None:
    """Choose one instance, or all (None)."""
    return [int(world.rng.integers(len(world.instances)))] if world.rng.random() < share else None


def _where(world: World, chosen: list[int] | None) -> list[dict[str, str]]:
    return [{}] if chosen is None else [{"instance": world.instances[chosen[0]]}]


def _extra_requests(world: World, factor: float, tenant: int | None) -> None:
    span = world.fault_to - world.fault_from
    count = world.rng.poisson(world.rate * span * factor)
    add(world, columns(world, np.sort(world.rng.uniform(world.fault_from, world.fault_to, count)), world.rng, tenant))


def traffic_spike(world: World, severity: int) -> None:
    tenant = int(world.rng.integers(len(world.tenants))) if world.rng.random() < 0.4 else None
    _tighten(world, 0.6)
    _extra_requests(world, (0.8, 1.2, 1.8)[severity] * _headroom(world), tenant)
    world.segments = [{}] if tenant is None else [{"tenant": world.tenants[tenant]}, {}]
    world.stages = {"queue", "prefill"}


def fewer_instances(world: World, severity: int) -> None:
    count = len(world.instances)
    lost = max(1, round(count * (0.3, 0.4, 0.55)[severity]))
    world.gone = {int(i) for i in world.rng.choice(count, lost, replace=False)}
    if len({world.regions[i] for i in range(count) if i not in world.gone}) < len(set(world.regions)):
        world.regions = ["eu"] * count
    _tighten(world, 0.75)
    _reroute(world)
    world.segments, world.stages = [{}], {"queue", "prefill"}


def region_loss(world: World, severity: int) -> None:
    count = len(world.instances)
    world.regions = ["us" if i < max(2, round(count * (0.3, 0.4, 0.5)[severity])) else "eu" for i in range(count)]
    world.gone = {i for i in range(count) if world.regions[i] == "us"}
    _tighten(world, 0.7)
    _reroute(world)
    world.segments, world.stages = [{"region": "us"}, {"region": "eu"}, {}], {"queue", "prefill"}


def slow_start(world: World, severity: int) -> None:
    new = len(world.instances) - 1
    world.born = {new}
    world.weights[0] = 1.0
    world.weights[0, new] = 0.0
    world.weights[0] /= world.weights[0].sum()
    world.break_("step", (3, 5, 8)[severity], [new])
    world.break_("prefill_token", (4, 7, 12)[severity], [new])
    world.segments, world.stages = [{"instance": world.instances[new]}], {"queue", "prefill"}


def routing_hotspot(world: World, severity: int) -> None:
    hot = int(world.rng.integers(len(world.instances)))
    _tighten(world, 0.6)
    world.weights[1, hot] *= (2.2, 3.0, 4.0)[severity]
    world.weights[1] /= world.weights[1].sum()
    if world.rng.random() < 0.4:
        _log(world, "routing", "router weights changed", {})
    world.segments, world.stages = [{"instance": world.instances[hot]}], {"queue", "prefill"}


def long_requests(world: World, severity: int) -> None:
    share = (0.05, 0.08, 0.14)[severity]
    tenant = int(world.rng.integers(len(world.tenants)))
    span = world.fault_to - world.fault_from
    count = max(world.rng.poisson(world.rate * span * share), 20)
    more = columns(world, np.sort(world.rng.uniform(world.fault_from, world.fault_to, count)), world.rng, tenant)
    more["input_tokens"] = world.rng.integers(16_000, 40_000, count)
    more["cached"] = np.zeros(count, dtype=np.int64)
    add(world, more)
    world.parameters[:, :, P["kv_tokens"]] += 150_000
    world.segments = [{"length_bucket": "16k-64k"}, {"tenant": world.tenants[tenant], "length_bucket": "16k-64k"}, {}]
    world.stages = {"queue", "prefill"}


def prefix_miss(world: World, severity: int) -> None:
    _warm(world)
    mask = world.during()
    kind = world.rng.random()
    if kind < 0.4:
        share = np.bincount(world.requests["tenant"], minlength=len(world.tenants))
        tenant = int(np.argsort(-share)[int(world.rng.integers(min(3, len(share))))])
        mask &= world.requests["tenant"] == tenant
        world.segments = [{"tenant": world.tenants[tenant]}]
    else:
        world.segments = [{}]
    world.requests["cached"] = np.where(
        mask, world.requests["cached"] * (0.4, 0.2, 0.0)[severity], world.requests["cached"]
    ).astype(np.int64)
    world.stages = {"prefill", "queue"}


def preemption(world: World, severity: int) -> None:
    chosen = _pick(world, 0.4)
    world.requests["input_tokens"] = world.requests["input_tokens"].clip(20, 1500)
    world.requests["cached"] = np.minimum(world.requests["cached"], world.requests["input_tokens"] // 2)
    world.requests["output_tokens"] = world.requests["output_tokens"] * 4
    _tighten(world, 0.5)
    running = 0.5 * world.parameters[0, 0, P["seats"]]
    footprint = float(np.mean(world.requests["input_tokens"] + 0.6 * world.requests["output_tokens"]))
    # Part of the memory goes to something else, so that about as many sequences fit as run on average.
    world.break_("kv_tokens", running * footprint * (1.35, 1.2, 1.05)[severity], chosen, factor=False)
    world.segments, world.stages = _where(world, chosen), {"queue", "prefill", "other"}


def admission_blocked(world: World, severity: int) -> None:
    chosen = _pick(world, 0.4)
    if world.rng.random() < 0.5:
        world.break_("block_every", 40.0, chosen, factor=False)
        world.break_("block", (8.0, 14.0, 22.0)[severity], chosen, factor=False)
    else:
        world.break_(
            "seats",
            max(int(world.rate / len(world.instances) * _service(world) * (0.95, 0.8, 0.65)[severity]), 1),
            chosen,
            factor=False,
        )
    world.segments, world.stages = _where(world, chosen), {"queue"}


def slow_prefill(world: World, severity: int) -> None:
    chosen = _pick(world, 0.6)
    world.break_("prefill_token", (4, 7, 12)[severity], chosen)
    world.segments, world.stages = _where(world, chosen), {"prefill", "queue"}


def release_regression(world: World, severity: int) -> None:
    count = len(world.instances)
    part = count if world.rng.random() < 0.3 else max(1, round(count * world.rng.uniform(0.2, 0.5)))
    moved = list(range(part))
    world.versions = (["v1"] * count, ["v2" if i < part else "v1" for i in range(count)])
    world.break_("prefill_token", (4, 7, 11)[severity], moved)
    world.break_("step", (1.4, 1.8, 2.4)[severity], moved)
    if world.rng.random() < 0.8:
        _log(world, "release", "rolled out v2", {"model_version": "v2"})
    world.segments, world.stages = [{"model_version": "v2"}], {"prefill", "queue"}


def config_regression(world: World, severity: int) -> None:
    chosen = _pick(world, 0.4)
    if world.rng.random() < 0.5:
        world.break_("prefill_token", (4, 7, 11)[severity], chosen)
        what = "changed attention backend"
    else:
        world.break_(
            "seats",
            max(int(world.rate / len(world.instances) * _service(world) * (0.95, 0.8, 0.65)[severity]), 1),
            chosen,
            factor=False,
        )
        what = "lowered max sequences"
    _log(world, "config", what, {} if chosen is None else {"instance": world.instances[chosen[0]]})
    world.segments, world.stages = _where(world, chosen), {"prefill", "queue"}


def noisy_neighbour(world: World, severity: int) -> None:
    host = world.hosts[int(world.rng.integers(len(world.hosts)))]
    chosen = [i for i, name in enumerate(world.hosts) if name == host]
    world.break_("step", (3, 4.5, 7)[severity], chosen)
    world.break_("prefill_token", (1.6, 2.2, 3)[severity], chosen)
    world.host[host] = {"cpu_pressure_ratio": (0.25, 0.4, 0.6)[severity], "cpu_ratio": (0.8, 0.9, 0.97)[severity]}
    for i in chosen:
        world.gpu[i] = {"sm_active_ratio": 0.5}
    world.segments, world.stages = [{"instance": world.instances[i]} for i in chosen], {"queue", "prefill"}


def gpu_throttle(world: World, severity: int) -> None:
    chosen = [int(world.rng.integers(len(world.instances)))]
    slow = (0.45, 0.35, 0.25)[severity]
    world.break_("prefill_token", 1.8 / slow, chosen)
    world.break_("step", 1.5, chosen)
    world.gpu[chosen[0]] = {
        "sm_clock_mhz": slow + 0.25,
        "throttle": str(world.rng.choice(["hw_thermal_slowdown", "sw_power_cap"])),
        "temperature": 18.0,
    }
    world.segments, world.stages = _where(world, chosen), {"prefill", "queue"}


def gpu_fault(world: World, severity: int) -> None:
    chosen = [int(world.rng.integers(len(world.instances)))]
    world.break_("prefill_token", (3, 5, 9)[severity], chosen)
    world.break_("step", (2, 3, 5)[severity], chosen)
    if world.rng.random() < 0.7:
        world.gpu_events.append({"instance": chosen[0], "kind": "xid", "code": int(world.rng.choice([48, 63, 79, 94]))})
    else:
        world.gpu[chosen[0]] = {"ecc": 4, "remapped": 2}
    world.segments, world.stages = _where(world, chosen), {"prefill", "queue"}


def grammar_cpu(world: World, severity: int) -> None:
    mask = world.during()
    many = world.rng.random(len(mask)) < (0.35, 0.5, 0.7)[severity]
    world.requests["structured"] = np.where(mask, world.requests["structured"] | many, world.requests["structured"])
    world.break_("grammar", (0.03, 0.045, 0.07)[severity], None, factor=False)
    world.segments, world.stages = [{}, {"structured": "true"}], {"queue", "prefill", "decode", "other"}
    world.metric = "tpot"


def adapter_swap(world: World, severity: int) -> None:
    mask = world.during()
    many = (14, 20, 30)[severity]
    new = world.rng.integers(0, many, len(mask))
    chosen = mask & (world.rng.random(len(mask)) < 0.5)
    world.requests["adapter"] = np.where(chosen, new, world.requests["adapter"])
    world.break_("adapter_load", (1.2, 1.8, 2.5)[severity], None, factor=False)
    world.segments, world.stages = [{}], {"queue", "prefill", "other"}


def speculation_overhead(world: World, severity: int) -> None:
    world.parameters[:, :, P["draft"]] = 3
    world.parameters[:, :, P["verify"]] = 2e-4
    _tighten(world, 0.6)
    world.break_("draft", (6, 8, 10)[severity], None, factor=False)
    world.break_("verify", (8, 10, 12)[severity], None)
    world.segments, world.stages, world.metric = [{}], {"decode"}, "tpot"


def acceptance_drop(world: World, severity: int) -> None:
    world.parameters[:, :, P["draft"]] = 4
    world.parameters[:, :, P["verify"]] = 2e-4
    mask = world.during()
    if world.rng.random() < 0.5:
        domain = int(world.requests["domain"][int(world.rng.integers(len(mask)))])
        mask &= world.requests["domain"] == domain
        world.segments = [{"domain": f"domain-{domain}"}]
    else:
        world.segments = [{}]
    world.requests["accept"] = np.where(
        mask, world.requests["accept"] * (0.5, 0.35, 0.2)[severity], world.requests["accept"]
    )
    world.stages, world.metric = {"decode"}, "tpot"


def kv_transfer_stall(world: World, severity: int) -> None:
    world.transfers = True
    chosen = _pick(world, 0.5)
    world.signals["transfer-stall"] = (0.0, 0.0 if chosen is None else 1.0 + chosen[0])
    world.requests["stall"] = np.where(world.during(), (40.0, 80.0, 160.0)[severity], 1.0)
    world.segments, world.stages = _where(world, chosen), {"transfer"}


def cache_tier_slow(world: World, severity: int) -> None:
    _warm(world)
    world.external_share = 0.35
    mask = world.during() & (world.rng.random(len(world.requests["ts"])) < 0.5)
    world.requests["extra"] = np.where(
        mask, world.rng.gamma(2.0, (0.6, 1.0, 2.0)[severity], len(mask)), world.requests["extra"]
    )
    world.signals["kv_tier_read_seconds"] = (0.03, (0.6, 1.0, 2.0)[severity])
    world.segments, world.stages = [{}], {"prefill", "queue"}


def gateway_overhead(world: World, severity: int) -> None:
    mask = world.during()
    kind = world.rng.random()
    if kind < 0.3:
        tenant = int(np.argmax(np.bincount(world.requests["tenant"])))
        mask &= world.requests["tenant"] == tenant
        world.segments = [{"tenant": world.tenants[tenant]}]
    else:
        world.segments = [{}]
    world.requests["gateway"] = world.requests["gateway"] + np.where(
        mask, world.rng.gamma(3.0, (0.3, 0.7, 1.5)[severity], len(mask)), 0.0
    )
    world.stages = {"gateway"}


def engine_pause(world: World, severity: int) -> None:
    chosen = _pick(world, 0.6)
    world.break_("pause_every", (45.0, 35.0, 25.0)[severity], chosen, factor=False)
    world.break_("pause", (3.0, 4.5, 7.0)[severity], chosen, factor=False)
    if world.rng.random() < 0.5:
        world.signals["python_gc_seconds"] = (0.01, 0.4)
    world.segments, world.stages = _where(world, chosen), {"queue", "prefill", "other"}


def slow_scoring(world: World, severity: int) -> None:
    _tighten(world, 0.55)
    world.break_("hold", (0.8, 1.2, 1.8)[severity] * _service(world), None, factor=False)
    world.signals["reward_score_seconds"] = (0.5, (2.0, 3.0, 5.0)[severity])
    world.segments, world.stages = [{}], {"queue"}


def output_tail(world: World, severity: int) -> None:
    share = np.bincount(world.requests["tenant"], minlength=len(world.tenants))
    tenant = int(np.argmax(share)) if world.rng.random() < 0.6 else None
    mask = world.during()
    if tenant is not None:
        mask &= world.requests["tenant"] == tenant
    factor = world.rng.gamma(2.0, (1.5, 2.2, 3.2)[severity], len(mask)) + 1
    world.requests["output_tokens"] = np.where(
        mask, world.requests["output_tokens"] * factor, world.requests["output_tokens"]
    ).astype(np.int64)
    _tighten(world, 0.7)
    world.parameters[:, :, P["kv_tokens"]] *= 3
    world.segments = [{"tenant": world.tenants[tenant]}, {}] if tenant is not None else [{}]
    world.stages = {"queue"}


def measurement_artefact(world: World, severity: int) -> None:
    mask = world.during()
    world.requests["shift"] = np.where(mask, world.rng.gamma(3.0, (0.3, 0.6, 1.2)[severity], len(mask)), 0.0)
    world.segments, world.stages = [{}], {"gateway", "other"}


def _service(world: World) -> float:
    """Return about how many seconds a request holds a seat at moderate load."""
    p = world.parameters[0, 0]
    batch = 0.5 * p[P["seats"]]
    step = p[P["step"]] + batch * p[P["decode_slot"]]
    gained = 1 + (1.6 if p[P["draft"]] else 0.0)
    return float(
        float(np.mean(world.requests["output_tokens"])) / gained * step
        + float(np.mean(world.requests["input_tokens"] - world.requests["cached"])) * p[P["prefill_token"]] * 2
    )


def _headroom(world: World) -> float:
    """Return how many times the present traffic the seats of all instances could serve."""
    p = world.parameters[0, 0]
    return max(float(p[P["seats"]]) * len(world.instances) / (world.rate * _service(world)), 1.0)


def _tighten(world: World, load: float) -> None:
    """Lower the seats of all instances, before and during, so that this share of them is in use."""
    seats = max(round(world.rate / len(world.instances) * _service(world) / load), 2)
    world.parameters[:, :, P["seats"]] = np.minimum(world.parameters[:, :, P["seats"]], seats)


def _warm(world: World) -> None:
    """Make prompts long and mostly cached, as chats and agents do."""
    tokens = np.maximum(world.requests["input_tokens"] * 3, 600).clip(0, 24_000)
    world.requests["input_tokens"] = tokens
    world.requests["cached"] = (tokens * np.clip(world.rng.normal(0.85, 0.06, len(tokens)), 0, 0.97) // 16 * 16).astype(
        np.int64
    )
    world.parameters[:, :, P["kv_tokens"]] *= 3


def _reroute(world: World) -> None:
    for row in world.gone:
        world.weights[1, row] = 0.0
    world.weights[1] /= world.weights[1].sum()


def _log(world: World, kind: str, summary: str, scope: dict[str, str]) -> None:
    world.changes.append(
        {"t": world.fault_from - float(world.rng.uniform(0, 60)), "kind": kind, "summary": summary, **scope}
    )


#: Every fault under the name of what it breaks.
FAULTS: dict[str, Fault] = {
    fault.__name__: fault
    for fault in (
        traffic_spike, fewer_instances, slow_start, routing_hotspot, long_requests, prefix_miss, preemption,
        admission_blocked, slow_prefill, release_regression, config_regression, noisy_neighbour, gpu_throttle,
        gpu_fault, grammar_cpu, adapter_swap, speculation_overhead, acceptance_drop, kv_transfer_stall,
        cache_tier_slow, gateway_overhead, engine_pause, region_loss, slow_scoring, output_tail, measurement_artefact,
    )
}  # fmt: skip
