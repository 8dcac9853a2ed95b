"""Writes what GPUs, hosts and the odd signals of a service tell, in its own rhythm; knows no requests."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from benchmarks.faultlab.foreign.columns import stamp, words
from benchmarks.faultlab.foreign.fleet import Fleet

Floats = npt.NDArray[np.float64]
#: History of hardware that is kept before the fault, seconds.
KEPT = 3 * 3600.0


def _times(f: Fleet) -> Floats:
    begin = max(0.0, f.habits.since - KEPT)
    return np.arange(begin, f.habits.horizon, f.habits.hardware_seconds)


def gpus(f: Fleet) -> dict[str, npt.NDArray[np.generic]]:
    """Return GPU samples of all instances: noisy, and each card with a level of its own."""
    t = _times(f)
    level, rng, n = f.levels(t), f.rng, len(t)
    on = level > 0
    parts = []
    for place, name in enumerate(f.habits.instances):
        odd = f.gpu.get(place, {})
        ratio, power, busy = (
            1 + (float(odd.get(key, 1.0)) - 1) * level for key in ("sm_clock_mhz", "power_watts", "sm_active_ratio")
        )
        own = float(rng.normal(1, 0.03))
        reasons = np.empty(n, dtype=object)
        reasons[:] = [[str(odd["throttle"])] if hot and "throttle" in odd else [] for hot in on.tolist()]
        parts.append({
            "ts": stamp(t + f.habits.skew_seconds + 0.13 * place), "host": words([f.habits.hosts[place]] * n),
            "gpu": words([f"GPU-{place:04x}"] * n), "instance": words([name] * n),
            "sm_active_ratio": np.clip(rng.beta(6, 5, n) * busy, 0, 1),
            "power_watts": rng.normal(520 * own, 40, n) * power,
            "temperature_celsius": rng.normal(61 * own, 3, n) + float(odd.get("heat", 0.0)) * level,
            "sm_clock_mhz": np.minimum(rng.normal(1900 * own, 25, n), 1980) * ratio,
            "throttle_reasons": reasons,
            "ecc_uncorrected": np.where(on, int(float(odd.get("ecc", 0))), 0),
            "remapped_rows": np.where(on, int(float(odd.get("remapped", 0))), 0),
            "state": words(["ok"] * n),
        })  # fmt: skip
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def hosts(f: Fleet) -> dict[str, npt.NDArray[np.generic]]:
    """Return samples of all hosts."""
    t = _times(f)
    level, rng, n = f.levels(t), f.rng, len(t)
    parts = []
    for host in dict.fromkeys(f.habits.hosts):
        odd = f.pressure.get(host, {})
        io = 0.3 if f.tier_pace > 1 else 0.0
        parts.append({
            "ts": stamp(t + f.habits.skew_seconds), "host": words([host] * n),
            "cpu_ratio": np.clip(rng.beta(3, 9, n) + odd.get("cpu_ratio", 0.0) * level, 0, 1),
            "cpu_pressure_ratio": np.clip(rng.gamma(1, 0.012, n) + odd.get("cpu_pressure_ratio", 0.0) * level, 0, 1),
            "io_pressure_ratio": np.clip(rng.gamma(1, 0.006, n) + io * level * rng.uniform(0.3, 1), 0, 1),
        })  # fmt: skip
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


def signals(f: Fleet) -> dict[str, npt.NDArray[np.generic]]:
    """Return the odd signals: reads of the outer tier and scoring, where the service has them."""
    t = _times(f)
    level, n = f.levels(t), len(t)
    series: dict[str, Floats] = {}
    if f.reads_tier:
        series["kv_tier_read_seconds"] = 0.02 * (1 + (f.tier_pace - 1) * level)
    if f.scoring:
        series["rollout_scoring_seconds"] = 0.8 * (1 + (f.scoring - 1) * level)
    parts = [
        {
            "ts": stamp(t), "model": words([f.habits.model] * n), "signal": words([name] * n),
            "value": values * f.rng.lognormal(0, 0.3, n),
        }
        for name, values in series.items()
    ]  # fmt: skip
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]} if parts else {}
