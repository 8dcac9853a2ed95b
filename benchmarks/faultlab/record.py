"""Runs a world and writes what would have been recorded of it into the public tables of a DuckDB connection."""

from __future__ import annotations

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.faultlab.engine import GAUGES, TOTALS, P, run
from benchmarks.faultlab.world import LENGTHS, World
from signals.views import VIEWS

EPOCH_US = 1_790_000_000_000_000
MODEL = "lab/chat-70b"
SCRAPE_SECONDS = 15.0
GPU_SECONDS = 15.0


def record(world: World, connection: duckdb.DuckDBPyConnection) -> None:
    """Simulate every instance and store requests, samples, events, lives and changes."""
    for name in VIEWS:
        connection.execute(f"delete from {name}")
    route = _route(world)
    requests, samples = _simulate(world, route)
    _store(connection, "requests", requests)
    _store(connection, "engine_samples", samples)
    _store(connection, "gpu_samples", _gpus(world))
    _store(connection, "gpu_events", _events(world))
    _store(connection, "host_samples", _hosts(world))
    _store(connection, "signal_samples", _signals(world))
    _store(connection, "instances", _instances(world))
    _store(connection, "changes", _changes(world))


def _route(world: World) -> npt.NDArray[np.int64]:
    """Assign requests to instances: smooth weighted turns with a little chance."""
    ts, rng = world.requests["ts"], world.rng
    route = np.zeros(len(ts), dtype=np.int64)
    during = (ts >= world.fault_from) & (ts < world.fault_to)
    for row, mask in ((0, ~during), (1, during)):
        count = int(mask.sum())
        weights = world.weights[row] / world.weights[row].sum()
        turn = (np.arange(count) * 0.6180339887 + rng.uniform(0, 0.08, count)) % 1.0
        route[mask] = np.searchsorted(np.cumsum(weights), turn, side="right").clip(0, len(weights) - 1)
    return route


def _simulate(world: World, route: npt.NDArray[np.int64]) -> tuple[dict[str, object], dict[str, object]]:
    asked, count = world.requests, len(world.requests["ts"])
    found = {name: np.full(count, np.nan) for name in ("admitted", "first", "finished", "drafted", "taken")}
    samples: list[dict[str, npt.NDArray[np.generic]]] = []
    for place, name in enumerate(world.instances):
        mine = np.flatnonzero(route == place)
        mine = mine[np.argsort((asked["ts"] + asked["gateway"])[mine], kind="stable")]
        pick = {key: values[mine] for key, values in asked.items()}
        parameters = world.parameters[place].copy()
        result = run(
            pick["ts"] + pick["gateway"],
            pick["input_tokens"].astype(np.float64),
            pick["cached"].astype(np.float64),
            pick["output_tokens"].astype(np.float64),
            pick["structured"].astype(np.bool_),
            pick["adapter"].astype(np.int64),
            pick["extra"],
            pick["accept"],
            parameters,
            world.fault_from,
            world.fault_to,
            SCRAPE_SECONDS,
            world.horizon + 1,
            int(world.rng.integers(2**31)),
        )
        for key, values in zip(found, result, strict=False):
            found[key][mine] = values
        samples.append(_samples(world, place, name, result[5]))
    joined: dict[str, object] = {key: np.concatenate([part[key] for part in samples]) for key in samples[0]}
    return _requests(world, route, found), joined


def _requests(
    world: World, route: npt.NDArray[np.int64], found: dict[str, npt.NDArray[np.float64]]
) -> dict[str, object]:
    asked, rng = world.requests, world.rng
    known = ~np.isnan(found["finished"])
    ts = asked["ts"]
    names = np.array(world.instances, dtype=object)
    during = world.during()
    arrival = ts + asked["gateway"]
    queue = found["admitted"] - arrival
    prefill = found["first"] - found["admitted"]
    transfer = np.zeros(len(ts))
    if world.transfers:
        stall = asked.get("stall", np.ones(len(ts)))
        at = int(world.signals["transfer-stall"][1]) - 1 if "transfer-stall" in world.signals else -1
        transfer = asked["transfer"] * np.where((at < 0) | (route == at), stall, 1.0)
    engine_ttft = queue + prefill + transfer + 0.004
    # Text that is delivered late is delivered before the end all the same.
    shift = np.minimum(asked["shift"], 0.8 * np.nan_to_num(found["finished"] - found["first"]))
    ttft = engine_ttft + asked["gateway"] + shift
    e2e = found["finished"] - arrival + transfer + asked["gateway"] + 0.004
    e2e = np.maximum(e2e, ttft + 1e-4)
    made = np.where(known, asked["output_tokens"], 0)
    version = np.array(world.versions[0] * (1 if len(world.versions[0]) > 1 else len(names)), dtype=object)[route]
    later = np.array(world.versions[1] * (1 if len(world.versions[1]) > 1 else len(names)), dtype=object)[route]
    lengths = np.array([name for name, _, _ in LENGTHS], dtype=object)
    kind = np.searchsorted([low for _, low, _ in LENGTHS[1:]], asked["input_tokens"], side="right")
    rows: dict[str, object] = {
        "ts": _times(ts),
        "first_token_at": _times(ts + ttft),
        "finished_at": _times(ts + e2e),
        "request_id": np.array([f"r{i}" for i in range(len(ts))], dtype=object),
        "model": np.full(len(ts), MODEL, dtype=object),
        "model_version": np.where(during, later, version),
        "tenant": np.array(world.tenants, dtype=object)[asked["tenant"]],
        "domain": np.array([f"domain-{i}" for i in range(3)], dtype=object)[asked["domain"]],
        "region": np.array(world.regions, dtype=object)[route],
        "instance": names[route],
        "adapter": np.array([None if a < 0 else f"lora-{a}" for a in asked["adapter"]], dtype=object),
        "input_tokens": asked["input_tokens"].astype(np.int64),
        "cached_tokens": asked["cached"].astype(np.int64),
        "output_tokens": made.astype(np.int64),
        "length_bucket": lengths[kind],
        "queue_seconds": np.maximum(queue, 0.0),
        "prefill_seconds": prefill,
        "transfer_seconds": transfer if world.transfers else np.full(len(ts), np.nan),
        "decode_seconds": found["finished"] - found["first"],
        "gateway_seconds": asked["gateway"] + shift,
        "ttft_seconds": ttft,
        "tpot_seconds": np.where(made > 1, (e2e - ttft) / np.maximum(made - 1, 1), np.nan),
        "e2e_seconds": e2e,
        "engine_ttft_seconds": engine_ttft,
        "engine_e2e_seconds": e2e - asked["gateway"],
        "status": np.full(len(ts), "ok", dtype=object),
        "structured": asked["structured"].astype(bool),
        "source": np.full(len(ts), "joined", dtype=object),
    }
    if world.parameters[0, 0, P["draft"]] > 0:
        rows["spec_draft_tokens"] = found["drafted"].astype(np.int64)
        rows["spec_accepted_tokens"] = found["taken"].astype(np.int64)
    # Requests still unfinished at the end are not recorded, and one in five hundred is lost.
    kept = known & (rng.random(len(ts)) > 0.002)
    return {key: np.asarray(values)[kept] for key, values in rows.items()}


def _samples(
    world: World, place: int, name: str, scrapes: npt.NDArray[np.float64]
) -> dict[str, npt.NDArray[np.generic]]:
    scrapes = scrapes[~np.isnan(scrapes[:, 0])]
    ts = np.arange(len(scrapes), dtype=np.float64) * SCRAPE_SECONDS + place * 0.7
    rows: dict[str, npt.NDArray[np.generic]] = {
        "ts": _times(ts),
        "interval_seconds": np.append(np.nan, np.diff(ts)),
        "instance": np.full(len(ts), name, dtype=object),
        "model": np.full(len(ts), MODEL, dtype=object),
        "role": np.full(len(ts), "both", dtype=object),
        "region": np.full(len(ts), world.regions[place], dtype=object),
        "engine": np.full(len(ts), "vllm", dtype=object),
        "scrape_state": np.full(len(ts), "ok", dtype=object),
    }
    rows |= {key: scrapes[:, column] for column, key in enumerate(GAUGES)}
    rows["kv_usage_max_ratio"] = rows["kv_usage_ratio"]
    rows["queue_max"] = rows["queue_depth"]
    increments = np.diff(scrapes[:, 4:], axis=0, prepend=np.nan)
    rows |= {key: increments[:, column] for column, key in enumerate(TOTALS)}
    rows["prefix_query_tokens"] = rows["prompt_tokens"]
    rows["prefix_hit_tokens"] = np.full(len(ts), np.nan)
    rows["external_hit_tokens"] = (
        increments[:, 0] * world.external_share if world.external_share else np.full(len(ts), np.nan)
    )
    if world.parameters[0, 0, P["draft"]] == 0:
        for key in ("spec_drafts", "spec_draft_tokens", "spec_accepted_tokens"):
            rows[key] = np.full(len(ts), np.nan)
    mask = np.ones(len(ts), dtype=bool)
    if place in world.gone:
        mask &= ts < world.fault_from
    if place in world.born:
        mask &= ts >= world.fault_from - 60
    if world.missing_scrapes:
        mask &= world.rng.random(len(ts)) > 0.15
    if world.reset_at is not None and place == 0:
        at = int(world.reset_at // SCRAPE_SECONDS)
        for key in TOTALS:
            values = np.asarray(rows[key], dtype=np.float64)
            values[at : at + 1] = np.nan
            rows[key] = values
    return {key: values[mask] for key, values in rows.items()}


def _gpus(world: World) -> dict[str, object]:
    ts = np.arange(0, world.horizon, GPU_SECONDS)
    during = (ts >= world.fault_from) & (ts < world.fault_to)
    parts = []
    throttled: list[list[str]] = []
    for place, name in enumerate(world.instances):
        odd, rng, n = world.gpu.get(place, {}), world.rng, len(ts)
        ratio = float(odd.get("sm_clock_mhz", 1.0))  # type: ignore[arg-type]
        throttle = odd.get("throttle")
        heat = float(odd.get("temperature", 0.0))  # type: ignore[arg-type]
        busy = float(odd.get("sm_active_ratio", 1.0))  # type: ignore[arg-type]
        throttled += [[str(throttle)] if during[i] and throttle else [] for i in range(n)]
        parts.append(
            {
                "ts": _times(np.asarray(ts + place * 0.3, dtype=np.float64)),
                "host": np.full(n, world.hosts[place], dtype=object),
                "gpu": np.full(n, f"GPU-{place}", dtype=object),
                "instance": np.full(n, name, dtype=object),
                "sm_active_ratio": np.clip(rng.normal(0.55, 0.04, n) * np.where(during, busy, 1.0), 0, 1),
                "power_watts": rng.normal(480, 15, n) * np.where(during, 0.5 + 0.5 * ratio, 1.0),
                "temperature_celsius": rng.normal(58, 1.5, n) + np.where(during, heat, 0.0),
                "sm_clock_mhz": rng.normal(1900, 8, n) * np.where(during, ratio, 1.0),
                "ecc_uncorrected": np.where(during, int(odd.get("ecc", 0)), 0),  # type: ignore[call-overload]
                "remapped_rows": np.where(during, int(odd.get("remapped", 0)), 0),  # type: ignore[call-overload]
                "state": np.full(n, "ok", dtype=object),
            }
        )
    joined: dict[str, object] = {key: np.concatenate([p[key] for p in parts]) for key in parts[0]}
    joined["throttle_reasons"] = throttled
    return joined


def _events(world: World) -> dict[str, object]:
    rows = world.gpu_events
    return {
        "ts": _times(np.array([world.fault_from + 5.0 for _ in rows])),
        "host": np.array([world.hosts[int(str(row["instance"]))] for row in rows], dtype=object),
        "gpu": np.array([f"GPU-{row['instance']}" for row in rows], dtype=object),
        "kind": np.array([row["kind"] for row in rows], dtype=object),
        "code": np.array([int(str(row["code"])) for row in rows], dtype=np.int64),
    }


def _hosts(world: World) -> dict[str, object]:
    ts = np.arange(0, world.horizon, GPU_SECONDS)
    during = (ts >= world.fault_from) & (ts < world.fault_to)
    parts = []
    for host in dict.fromkeys(world.hosts):
        odd, rng, n = world.host.get(host, {}), world.rng, len(ts)
        parts.append(
            {
                "ts": _times(ts),
                "host": np.full(n, host, dtype=object),
                "cpu_ratio": np.clip(
                    rng.normal(0.25, 0.03, n) + np.where(during, odd.get("cpu_ratio", 0.25) - 0.25, 0), 0, 1
                ),
                "cpu_pressure_ratio": np.abs(rng.normal(0.01, 0.005, n))
                + np.where(during, odd.get("cpu_pressure_ratio", 0.0), 0),
                "engine_cpu_ratio": rng.normal(1.1, 0.05, n),
                "io_pressure_ratio": np.abs(rng.normal(0.005, 0.003, n)),
            }
        )
    return {key: np.concatenate([p[key] for p in parts]) for key in parts[0]}


def _signals(world: World) -> dict[str, object]:
    ts = np.arange(0, world.horizon, SCRAPE_SECONDS)
    during = (ts >= world.fault_from) & (ts < world.fault_to)
    names = [name for name in world.signals if name != "transfer-stall"]
    n = len(ts)
    parts = [
        {
            "ts": _times(ts),
            "model": np.full(n, MODEL, dtype=object),
            "signal": np.full(n, name, dtype=object),
            "value": np.where(during, world.signals[name][1], world.signals[name][0]) * world.rng.lognormal(0, 0.15, n),
        }
        for name in names
    ]
    return {key: np.concatenate([p[key] for p in parts]) for key in parts[0]} if parts else {}


def _instances(world: World) -> dict[str, object]:
    count = len(world.instances)
    started = np.full(count, -86_400.0)
    stopped = np.full(count, np.nan)
    for place in world.born:
        started[place] = world.fault_from - 90
    for place in world.gone:
        stopped[place] = world.fault_from
    return {
        "instance": np.array(world.instances, dtype=object),
        "model": np.full(count, MODEL, dtype=object),
        "host": np.array(world.hosts, dtype=object),
        "region": np.array(world.regions, dtype=object),
        "started_at": _times(started),
        "stopped_at": _times(stopped),
    }


def _changes(world: World) -> dict[str, object]:
    rows = world.changes
    return {
        "ts": _times(np.array([float(row["t"]) for row in rows])),  # type: ignore[arg-type]
        **{
            key: np.array([row.get(key) for row in rows], dtype=object)
            for key in ("kind", "summary", "model_version", "instance")
        },
    }


def _times(seconds: npt.NDArray[np.float64]) -> npt.NDArray[np.datetime64]:
    micro = np.where(np.isnan(seconds), np.iinfo(np.int64).min, EPOCH_US + np.nan_to_num(seconds) * 1e6).astype(
        np.int64
    )
    return micro.view("datetime64[us]")


def _store(connection: duckdb.DuckDBPyConnection, table: str, rows: dict[str, object]) -> None:
    if not rows or not len(rows["ts"] if "ts" in rows else rows["instance"]):  # type: ignore[arg-type]
        return
    arrays = {}
    for name, values in rows.items():
        if isinstance(values, np.ndarray) and values.dtype.kind == "M":
            arrays[name] = pa.array(values, type=pa.timestamp("us", tz="UTC"))
        elif isinstance(values, np.ndarray) and values.dtype.kind == "f":
            arrays[name] = pa.array(values, from_pandas=True)
        else:
            arrays[name] = pa.array(values)
    batch = pa.table(arrays)
    connection.register("batch", batch)
    names = ", ".join(f'"{name}"' for name in arrays)
    connection.execute(f"insert into {table} ({names}) select {names} from batch")
    connection.unregister("batch")
