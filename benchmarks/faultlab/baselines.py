"""Six published or obvious ways to point at a segment or a signal, for comparison; none of them reads the causes.

Segments: random, P99 ratio, z of the mean, BubbleUp-style share differences, Adtributor (NSDI 2014) on bad counts.
Signals: z-score and BARO-style (median and interquartile range, the RobustScorer of arXiv 2405.09330), mapped to the
cause that the signal's name suggests.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import duckdb
import numpy as np
import numpy.typing as npt

DIMENSIONS = ("instance", "tenant", "length_bucket", "model_version", "adapter", "region", "domain", "structured")
Segment = dict[str, str]
Arrays = Mapping[str, npt.NDArray[np.generic]]

#: What a signal's name suggests to a reader who knows nothing else.
SUGGESTS = {
    "queue_depth": "traffic_spike", "running": "traffic_spike", "kv_usage_ratio": "preemption",
    "preemptions": "preemption", "prompt_tokens": "long_requests", "generation_tokens": "output_tail",
    "queue_seconds_sum": "admission_blocked", "prefill_seconds_sum": "slow_prefill", "step_seconds": "engine_pause",
    "grammar_seconds": "grammar_cpu", "adapters_waiting": "adapter_swap", "spec_draft_tokens": "speculation_overhead",
    "spec_accepted_tokens": "acceptance_drop", "external_hit_tokens": "cache_tier_slow",
    "sm_clock_mhz": "gpu_throttle", "temperature_celsius": "gpu_throttle", "power_watts": "gpu_fault",
    "sm_active_ratio": "noisy_neighbour", "ecc_uncorrected": "gpu_fault", "remapped_rows": "gpu_fault",
    "cpu_ratio": "noisy_neighbour", "cpu_pressure_ratio": "noisy_neighbour", "io_pressure_ratio": "cache_tier_slow",
    "arrivals": "traffic_spike", "input_tokens": "long_requests", "output_tokens": "output_tail",
    "cached_tokens": "prefix_miss", "gateway_seconds": "gateway_overhead", "transfer_seconds": "kv_transfer_stall",
    "prefill_seconds": "slow_prefill", "queue_seconds": "admission_blocked", "instances": "fewer_instances",
    "kv_tier_read_seconds": "cache_tier_slow", "reward_score_seconds": "slow_scoring",
    "python_gc_seconds": "engine_pause",
}  # fmt: skip


def segments(
    connection: duckdb.DuckDBPyConnection, metric: str, start: datetime, end: datetime, rng: np.random.Generator
) -> dict[str, Segment]:
    """Return the segment that each method ranks first."""
    names = ", ".join(f"{name}::varchar as {name}" for name in DIMENSIONS)
    rows = connection.execute(
        f"select ts >= $start as late, {metric}_seconds as value, {names} from requests "
        f"where ts < $end and {metric}_seconds is not null",
        {"start": start, "end": end},
    ).fetchnumpy()
    late, value = rows["late"].astype(bool), np.asarray(rows["value"], dtype=np.float64)
    threshold = float(np.quantile(value[~late], 0.99))
    bad = value > threshold
    levels = [(name, level) for name in DIMENSIONS for level in _levels(rows[name])]
    scores: dict[str, dict[tuple[str, str], float]] = {
        name: {} for name in ("random", "p99_ratio", "z_mean", "bubbleup")
    }
    for name, level in levels:
        inside = _is(rows[name], level)
        old, new = value[inside & ~late], value[inside & late]
        if len(old) < 20 or len(new) < 20:
            continue
        scores["random"][name, level] = float(rng.random())
        scores["p99_ratio"][name, level] = float(np.quantile(new, 0.99) / max(np.quantile(old, 0.99), 1e-9))
        scores["z_mean"][name, level] = float((new.mean() - old.mean()) / max(old.std() / np.sqrt(len(new)), 1e-9))
        scores["bubbleup"][name, level] = float(
            (inside & late & bad).sum() / max((late & bad).sum(), 1)
            - (inside & late & ~bad).sum() / max((late & ~bad).sum(), 1)
        )
    found = {method: _best(ranked) for method, ranked in scores.items()}
    found["adtributor"] = _adtributor(rows, late, bad)
    return found


def _adtributor(rows: Arrays, late: npt.NDArray[np.bool_], bad: npt.NDArray[np.bool_]) -> Segment:
    """Rank dimensions by surprise (Jensen-Shannon) of elements that explain more than a tenth of the change."""
    n0, n1 = (~late).sum(), late.sum()
    best: tuple[float, Segment] = (-1.0, {})
    b0, b1 = float((bad & ~late).sum()) * n1 / max(n0, 1), float((bad & late).sum())
    for name in DIMENSIONS:
        parts = []
        for level in _levels(rows[name]):
            inside = _is(rows[name], level)
            forecast = float((inside & bad & ~late).sum()) * n1 / max(n0, 1)
            actual = float((inside & bad & late).sum())
            p, q = forecast / max(b0, 1e-9), actual / max(b1, 1e-9)
            power = (actual - forecast) / max(b1 - b0, 1e-9)
            parts.append((_surprise(p, q), power, level))
        chosen = [part for part in sorted(parts, reverse=True) if part[1] > 0.1]
        total, explained = 0.0, 0.0
        for surprise, power, _ in chosen:
            total, explained = total + surprise, explained + power
            if explained > 0.67:
                break
        if chosen and total > best[0]:
            best = (total, {name: chosen[0][2]})
    return best[1]


def _surprise(p: float, q: float) -> float:
    middle = (p + q) / 2
    return 0.5 * sum(x * float(np.log(x / middle)) for x in (p, q) if x > 0)


def signals(connection: duckdb.DuckDBPyConnection, start: datetime, end: datetime) -> dict[str, str]:
    """Return the cause that the signal ranked first suggests, by z-score and by BARO's robust score."""
    series = _series(connection, start, end)
    scores: dict[str, dict[str, float]] = {"z_score": {}, "baro": {}}
    for name, (before, during) in series.items():
        if len(before) < 5 or len(during) < 2:
            continue
        scores["z_score"][name] = float(
            np.abs(during - before.mean()).max() / max(before.std(), 1e-3 * abs(before.mean()), 1e-9)
        )
        low, middle, high = np.quantile(before, [0.25, 0.5, 0.75])
        scores["baro"][name] = float(np.abs(during - middle).max() / max(high - low, 1e-3 * abs(middle), 1e-9))
    return {method: SUGGESTS[max(ranked, key=lambda key: ranked[key])] for method, ranked in scores.items() if ranked}


def _series(
    connection: duckdb.DuckDBPyConnection, start: datetime, end: datetime
) -> dict[str, tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]]:
    """Return minute means of every signal before and during, over the fleet."""
    found = {}
    columns = {
        "engine_samples": [n for n in SUGGESTS if n in ENGINE],
        "gpu_samples": list(GPUS),
        "host_samples": ["cpu_ratio", "cpu_pressure_ratio", "io_pressure_ratio"],
        "requests": list(REQUESTS),
    }  # fmt: skip
    for table, names in columns.items():
        means = ", ".join(f"avg({name}) as {name}" for name in names)
        source = "host" if table == "host_samples" else "instance"
        rows = connection.execute(
            f"select time_bucket(interval 1 minute, ts) as minute, count(*) as arrivals, "
            f"count(distinct {source}) as instances, {means} from {table} where ts < $end group by 1 order by 1",
            {"end": end},
        ).fetchnumpy()
        late = np.asarray(rows["minute"] >= np.datetime64(start.replace(tzinfo=None), "us"))
        extra = ["arrivals", "instances"] if table == "requests" else []
        for name in [*names, *extra]:
            values = np.ma.filled(np.ma.asarray(rows[name]).astype(np.float64), np.nan)
            known = np.isfinite(values)
            found[name] = (values[known & ~late], values[known & late])
    rows = connection.execute(
        "select time_bucket(interval 1 minute, ts) as minute, signal, avg(value) as value from signal_samples "
        "where ts < $end group by all order by 1",
        {"end": end},
    ).fetchnumpy()
    late = np.asarray(rows["minute"] >= np.datetime64(start.replace(tzinfo=None), "us"))
    for name in {str(signal) for signal in rows["signal"].tolist()}:
        mine = rows["signal"] == name
        found[name] = (rows["value"][mine & ~late], rows["value"][mine & late])
    return found


GPUS = ("sm_clock_mhz", "temperature_celsius", "power_watts", "sm_active_ratio", "ecc_uncorrected", "remapped_rows")
REQUESTS = (
    "input_tokens", "output_tokens", "cached_tokens", "gateway_seconds", "transfer_seconds", "prefill_seconds",
    "queue_seconds",
)  # fmt: skip
ENGINE = (
    "queue_depth", "running", "kv_usage_ratio", "preemptions", "prompt_tokens", "generation_tokens",
    "queue_seconds_sum", "prefill_seconds_sum", "step_seconds", "grammar_seconds", "adapters_waiting",
    "spec_draft_tokens", "spec_accepted_tokens", "external_hit_tokens",
)  # fmt: skip


def _levels(values: npt.NDArray[np.generic]) -> list[str]:
    plain = values.data if isinstance(values, np.ma.MaskedArray) else values
    return sorted(
        {str(value) for value in np.asarray(plain, dtype=object).tolist() if value is not None and value != "?"}
    )


def _is(values: npt.NDArray[np.generic], level: str) -> npt.NDArray[np.bool_]:
    plain = values.data if isinstance(values, np.ma.MaskedArray) else values
    return np.asarray(plain == level, dtype=bool)


def _best(ranked: Mapping[tuple[str, str], float]) -> Segment:
    if not ranked:
        return {}
    name, level = max(ranked, key=lambda key: ranked[key])
    return {name: level}
