"""Draws services for the event simulation, breaks each in one way, and stores what would have been recorded."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from math import exp, inf

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.faultlab.eventsim import TOTALS, Instance, Job, Page, Run

Floats = npt.NDArray[np.float64]
Curve = Callable[[float], float]
MODEL = "second/assistant-32b"
BEGIN_US = 1_812_345_600_000_000
HORIZON = 5400.0
#: Mean seconds that a gateway's worker needs for a request.
GATEWAY_SECONDS = 0.008
LENGTH_EDGES = ((1_000, "0-1k"), (4_000, "1k-4k"), (16_000, "4k-16k"), (64_000, "16k-64k"), (256_000, "64k-256k"))


@dataclass
class Service:
    """A fleet with its traffic; what a fault bends is data here. `accepted` = causes that would be right."""

    rng: np.random.Generator
    size: int
    since: float
    until: float
    rate: float
    prompt_rate: float
    base: float
    share: float
    seats: int
    memory: float
    rich: bool
    t: Floats
    columns: dict[str, npt.NDArray[np.generic]]
    accepted: tuple[str, ...] = ()
    metric: str = "ttft"
    slowness: dict[int, Curve] = field(default_factory=dict)
    drag: dict[int, Curve] = field(default_factory=dict)
    seats_of: dict[int, Curve] = field(default_factory=dict)
    memory_of: dict[int, Curve] = field(default_factory=dict)
    bends: list[float] = field(default_factory=list)
    gone: set[int] = field(default_factory=set)
    born: set[int] = field(default_factory=set)
    moved: dict[int, float] = field(default_factory=dict)
    favourite: int | None = None
    gateway_work: Curve = lambda _: 1.0
    wire: Curve = lambda _: 1.0
    clock: dict[int, float] = field(default_factory=dict)
    pressure: dict[int, float] = field(default_factory=dict)
    xid: int | None = None
    changes: list[tuple[float, str, str, str | None]] = field(default_factory=list)

    @property
    def workers(self) -> int:
        """Return the workers of the gateway."""
        return max(4, round(self.rate / 5))

    def on(self, t: float) -> bool:
        return self.since <= t < self.until

    def during(self) -> npt.NDArray[np.bool_]:
        return np.asarray((self.t >= self.since) & (self.t < self.until), dtype=bool)


def draw(seed: int) -> Service:
    """Draw a healthy service: a load that swells and ebbs, few tenants of very unlike habits, sessions that grow."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 13))
    since = float(rng.uniform(3300, 3900))
    until = since + float(rng.uniform(500, 1300))
    mean_out = float(rng.uniform(150, 350))
    base, share = float(rng.uniform(0.012, 0.03)), float(rng.uniform(1e-4, 4e-4))
    seats = int(rng.choice([16, 24, 32, 48]))
    prompt_rate = float(rng.uniform(6_000, 16_000))
    # An instance is loaded to about half of what its seats or its prompt computation can take.
    tokens = 2_000.0
    per_instance = 0.5 * min(seats / (mean_out * (base + share * seats) * 1.25), prompt_rate / tokens)
    rate = per_instance * size
    swell, phase = rng.uniform(0.05, 0.2), rng.uniform(0, 6.28)
    count = rng.poisson(rate * HORIZON * 1.3)
    t = np.sort(rng.uniform(0, HORIZON, count))
    t = t[rng.random(count) < (1 + swell * np.sin(t / 2700 * 3.14 + phase)) / 1.3]
    columns = draw_requests(rng, len(t), mean_out)
    # Memory is peopled to about two thirds at half load.
    footprint = float(np.mean(columns["tokens"].astype(np.float64) + columns["output"].astype(np.float64) * 0.6))
    memory = footprint * seats * 0.5 / float(rng.uniform(0.45, 0.7))
    return Service(
        rng, size, since, until, rate, prompt_rate, base, share, seats, max(memory, 60_000.0),
        bool(rng.random() < 0.6), t, columns, bends=[since, until],
    )  # fmt: skip


def draw_requests(
    rng: np.random.Generator, count: int, mean_out: float, tenant: int | None = None
) -> dict[str, npt.NDArray[np.generic]]:
    """Draw what requests are: Zipf tenants, log-normal lengths, caches that serve the turns after the first."""
    owner = np.minimum(rng.zipf(1.6, count) - 1, 7) if tenant is None else np.full(count, tenant)
    centre = 5.9 + 0.35 * (owner % 5)
    tokens = np.exp(rng.normal(centre, 0.8)).clip(20, 30_000).astype(np.int64)
    turn = rng.geometric(0.35, count)
    cached = np.where(turn > 1, tokens * rng.beta(8, 2, count), tokens * 0.05).astype(np.int64) // 32 * 32
    output = rng.lognormal(np.log(mean_out) - 0.32, 0.8, count).clip(3, 4_000).astype(np.int64)
    return {"tenant": owner.astype(np.int64), "tokens": tokens, "cached": cached, "output": output, "turn": turn}


def join(service: Service, t: Floats, more: dict[str, npt.NDArray[np.generic]]) -> None:
    """Add requests to the traffic."""
    both = np.concatenate([service.t, t])
    order = np.argsort(both, kind="stable")
    service.t = both[order]
    service.columns = {k: np.concatenate([v, more[k]])[order] for k, v in service.columns.items()}


def store(service: Service, connection: duckdb.DuckDBPyConnection) -> None:
    """Simulate and write requests, pages, hardware, lives and changes into empty public tables."""
    route = _route(service)
    waited = _gateway(service)
    jobs = [
        Job(i, float(service.t[i] + waited[i]), int(c), int(h), int(o))
        for i, (c, h, o) in enumerate(
            zip(*(service.columns[name].tolist() for name in ("tokens", "cached", "output")), strict=True)
        )
    ]
    pages: list[tuple[int, Page]] = []
    for place in range(service.size):
        mine = sorted((jobs[i] for i in np.flatnonzero(route == place)), key=lambda job: job.arrival)
        run = Run(_instance(service, place), mine, HORIZON, 10.0, float(service.rng.uniform(0, 10)))
        pages += [(place, page) for page in run()]
    _put(connection, "requests", _requests(service, route, waited, jobs))
    _put(connection, "engine_samples", _samples(service, pages))
    if service.rich:
        _put(connection, "gpu_samples", _gpus(service))
        _put(connection, "host_samples", _hosts(service))
    _put(connection, "instances", _lives(service))
    if service.xid is not None:
        connection.execute(
            "insert into gpu_events values (make_timestamptz(?), ?, ?, 'xid', 79)",
            [BEGIN_US + int((service.since + 8) * 1e6), f"h{service.xid}", f"g{service.xid}"],
        )
    for t, kind, summary, version in service.changes:
        connection.execute(
            "insert into changes (ts, kind, model_version, summary) values (make_timestamptz(?), ?, ?, ?)",
            [BEGIN_US + int(t * 1e6), kind, version, summary],
        )


def _instance(service: Service, place: int) -> Instance:
    calm: Curve = lambda _: 1.0  # noqa: E731
    seats, memory = service.seats_of.get(place), service.memory_of.get(place)
    return Instance(
        f"i{place}", service.prompt_rate, service.base, service.share,
        lambda t: int(seats(t)) if seats is not None else service.seats,
        lambda t: memory(t) if memory is not None else service.memory,
        service.slowness.get(place, calm), service.drag.get(place, calm), list(service.bends),
    )  # fmt: skip


def _route(service: Service) -> npt.NDArray[np.int64]:
    """Send each request to a random instance that lives; a favourite draws a third of all while the fault holds."""
    rng, size, n = service.rng, service.size, len(service.t)
    route = rng.integers(0, size, n)
    for place in service.gone:
        hit = (route == place) & (service.t >= service.since)
        alive = [i for i in range(size) if i not in service.gone]
        route[hit] = rng.choice(alive, int(hit.sum()))
    for place in service.born:
        hit = (route == place) & (service.t < service.since)
        route[hit] = rng.choice([i for i in range(size) if i not in service.born], int(hit.sum()))
    if service.favourite is not None:
        hit = service.during() & (rng.random(n) < 0.35)
        route[hit] = service.favourite
    return route


def _gateway(service: Service) -> Floats:
    """Queue requests before a pool of gateway workers; return seconds spent there."""
    workers = [0.0] * service.workers
    effort = service.rng.lognormal(np.log(GATEWAY_SECONDS) - 0.18, 0.6, len(service.t))
    spent = np.zeros(len(service.t))
    for i, t in enumerate(service.t.tolist()):
        begin = max(t, heapq.heappop(workers))
        end = begin + effort[i] * service.gateway_work(t)
        heapq.heappush(workers, end)
        spent[i] = end - t
    return spent


def _requests(service: Service, route: npt.NDArray[np.int64], waited: Floats, jobs: list[Job]) -> dict[str, object]:
    rng, n = service.rng, len(jobs)
    wire = np.array([service.wire(t) for t in service.t.tolist()])
    moved = service.columns["tokens"].astype(np.float64) * 2e-5 * wire * rng.lognormal(0, 0.3, n)
    moved = moved if service.rich else np.zeros(n)
    admitted, first, finished = (np.array([getattr(j, k) for j in jobs]) for k in ("admitted", "first", "finished"))
    arrival = np.array([j.arrival for j in jobs])
    ttft = first + moved + 0.003 - service.t
    e2e = finished + moved + 0.003 - service.t
    late = np.isnan(admitted) & (arrival + 90.0 < HORIZON)
    kept = ((finished == finished) & (service.t + e2e < HORIZON)) | late
    version = np.array(["r7"] * n, dtype=object)
    for place, t in service.moved.items():
        version[(route == place) & (service.t >= t)] = "r8"
    names = np.array([f"i{k}" for k in range(service.size)], dtype=object)
    output = np.where(late, 0, service.columns["output"]).astype(np.int64)
    rows: dict[str, object] = {
        "ts": _stamp(service.t),
        "first_token_at": _stamp(service.t + ttft),
        "finished_at": _stamp(service.t + np.where(late, 90.0, e2e)),
        "request_id": np.array([f"q{i}" for i in range(n)], dtype=object),
        "model": np.full(n, MODEL, dtype=object),
        "model_version": version,
        "tenant": np.array([f"team{k}" for k in range(8)], dtype=object)[service.columns["tenant"]],
        "instance": np.where(late, np.array(None, dtype=object), names[route]),
        "input_tokens": service.columns["tokens"].astype(np.int64),
        "cached_tokens": service.columns["cached"].astype(np.int64),
        "output_tokens": output,
        "length_bucket": np.array([_bucket(k) for k in service.columns["tokens"].tolist()], dtype=object),
        "queue_seconds": admitted - arrival,
        "prefill_seconds": first - admitted,
        "gateway_seconds": waited,
        "ttft_seconds": ttft,
        "tpot_seconds": np.where(output > 1, (finished - first) / np.maximum(output - 1, 1), np.nan),
        "e2e_seconds": np.where(late, 90.0, e2e),
        "status": np.where(late, "timeout", "ok").astype(object),
        "source": np.full(n, "joined", dtype=object),
        "turn": service.columns["turn"].astype(np.int64),
    }
    if service.rich:
        rows["transfer_seconds"] = moved
    return {k: np.asarray(v)[kept] for k, v in rows.items()}


def _samples(service: Service, pages: list[tuple[int, Page]]) -> dict[str, object]:
    rows: dict[str, list[object]] = {k: [] for k in ("ts", "instance", "queue_depth", "running", "kv_usage_ratio")}
    totals: list[tuple[float, ...]] = []
    last: dict[int, Page] = {}
    for place, page in pages:
        before = last.get(place)
        last[place] = page
        left = place in service.gone and page.t >= service.since
        if left or (place in service.born and page.t < service.since - 30):
            continue
        values = (page.t, f"i{place}", page.queue, page.running, page.usage)
        for name, value in zip(rows, values, strict=True):
            rows[name].append(value)
        old = before.totals if before is not None else (float("nan"),) * len(TOTALS)
        totals.append(tuple(b - a for a, b in zip(old, page.totals, strict=True)))
    n = len(totals)
    found: dict[str, object] = {
        "ts": _stamp(np.array(rows["ts"], dtype=np.float64)),
        "interval_seconds": np.full(n, 10.0),
        "instance": np.array(rows["instance"], dtype=object),
        "model": np.full(n, MODEL, dtype=object),
        "role": np.full(n, "both", dtype=object),
        "engine": np.full(n, "sglang", dtype=object),
        "scrape_state": np.full(n, "ok", dtype=object),
    }
    for name in ("queue_depth", "running", "kv_usage_ratio"):
        found[name] = np.array(rows[name], dtype=np.float64)
    for column, name in enumerate(TOTALS):
        found[name] = np.array([line[column] for line in totals])
    return found


def _gpus(service: Service) -> dict[str, object]:
    t = np.arange(0, HORIZON, 10.0)
    parts = []
    for place in range(service.size):
        part = np.where((t >= service.since) & (t < service.until), service.clock.get(place, 1.0), 1.0)
        n = len(t)
        parts.append(
            {
                "ts": _stamp(t),
                "host": np.full(n, f"h{place}", dtype=object),
                "gpu": np.full(n, f"g{place}", dtype=object),
                "instance": np.full(n, f"i{place}", dtype=object),
                "sm_clock_mhz": service.rng.normal(1755, 12, n) * part,
                "power_watts": service.rng.normal(610, 25, n) * (0.4 + 0.6 * part),
                "temperature_celsius": service.rng.normal(66, 2, n) + 20 * (part < 1),
                "state": np.full(n, "ok", dtype=object),
            }
        )
    return {k: np.concatenate([part[k] for part in parts]) for k in parts[0]}


def _hosts(service: Service) -> dict[str, object]:
    t = np.arange(0, HORIZON, 10.0)
    parts = []
    for place in range(service.size):
        n, more = len(t), service.pressure.get(place, 0.0)
        on = (t >= service.since) & (t < service.until)
        parts.append({
            "ts": _stamp(t), "host": np.full(n, f"h{place}", dtype=object),
            "cpu_ratio": np.clip(service.rng.beta(4, 12, n) + on * more, 0, 1),
            "cpu_pressure_ratio": service.rng.gamma(1.2, 0.01, n) + on * more,
        })  # fmt: skip
    return {k: np.concatenate([part[k] for part in parts]) for k in parts[0]}


def _lives(service: Service) -> dict[str, object]:
    n = service.size
    return {
        "instance": np.array([f"i{k}" for k in range(n)], dtype=object),
        "model": np.full(n, MODEL, dtype=object),
        "host": np.array([f"h{k}" for k in range(n)], dtype=object),
        "started_at": _stamp(np.array([service.since - 45 if k in service.born else -2e5 for k in range(n)])),
        "max_running": np.full(n, service.seats, dtype=np.int64),
    }


def since(start: float, factor: float) -> Curve:
    """Return a curve that is `factor` from `start` on."""
    return lambda t: factor if t >= start else 1.0


def cold(since: float, peak: float, seconds: float) -> Curve:
    """Return a slowness that falls from `peak` to 1 over `seconds`."""
    return lambda t: 1.0 if t < since else 1.0 + (peak - 1.0) * exp(-(t - since) / seconds)


def pulses(since: float, until: float, every: float, length: float) -> Curve:
    """Return a curve that stands still for `length` in every `every` seconds."""
    return lambda t: inf if since <= t < until and (t - since) % every < length - 1e-6 else 1.0


def _bucket(tokens: int) -> str:
    return next((name for edge, name in LENGTH_EDGES if tokens < edge), "256k-1m")


def _stamp(seconds: Floats) -> npt.NDArray[np.datetime64]:
    micro = np.where(np.isnan(seconds), np.iinfo(np.int64).min, BEGIN_US + np.nan_to_num(seconds) * 1e6)
    return micro.astype(np.int64).view("datetime64[us]")


def _put(connection: duckdb.DuckDBPyConnection, table: str, rows: dict[str, object]) -> None:
    arrays = {}
    for name, values in rows.items():
        assert isinstance(values, np.ndarray)
        kind = values.dtype.kind
        stamp = pa.timestamp("us", tz="UTC")
        arrays[name] = pa.array(values, type=stamp) if kind == "M" else pa.array(values, from_pandas=kind == "f")
    batch = pa.table(arrays)
    connection.register("batch", batch)
    names = ", ".join(f'"{name}"' for name in arrays)
    connection.execute(f"insert into {table} ({names}) select {names} from batch")
    connection.unregister("batch")
