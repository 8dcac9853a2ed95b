"""Writes what a service with these habits would have recorded of a day into the empty public tables."""

from __future__ import annotations

import duckdb
import numpy as np
import numpy.typing as npt

from benchmarks.faultlab.foreign.batch import PAGE
from benchmarks.faultlab.foreign.columns import BEGIN_US, put, stamp, words
from benchmarks.faultlab.foreign.fleet import Fleet
from benchmarks.faultlab.foreign.hardware import gpus, hosts, signals
from benchmarks.faultlab.foreign.serve import Day

Floats = npt.NDArray[np.float64]
#: Edges of the scraped histograms, seconds.
EDGES = (
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0,
    160.0,
)  # fmt: skip
LENGTHS = ((1_000, "0-1k"), (4_000, "1k-4k"), (16_000, "4k-16k"), (64_000, "16k-64k"), (256_000, "64k-256k"))


def record(f: Fleet, day: Day, connection: duckdb.DuckDBPyConnection) -> dict[str, npt.NDArray[np.generic]]:
    """Store requests, pages, histograms, hardware, lives and changes; return the columns of the requests."""
    rows = requests(f, day)
    put(connection, "requests", rows)
    put(connection, "engine_samples", _pages(f, day))
    if f.habits.kind == "pages":
        put(connection, "engine_bins", _bins(f, day, rows))
    put(connection, "gpu_samples", gpus(f))
    put(connection, "host_samples", hosts(f))
    put(connection, "signal_samples", signals(f))
    for place, code in f.xid:
        connection.execute(
            "insert into gpu_events values (make_timestamptz(?), ?, ?, 'xid', ?)",
            [BEGIN_US + int((f.habits.since + 4) * 1e6), f.habits.hosts[place], f"GPU-{place:04x}", code],
        )
    put(connection, "instances", _lives(f))
    for row in f.changes:
        connection.execute(
            "insert into changes (ts, kind, model_version, summary, source) values (make_timestamptz(?), ?, ?, ?, ?)",
            [
                BEGIN_US + int(float(str(row["t"])) * 1e6), row["kind"], row.get("model_version"), row["summary"],
                row.get("source"),
            ],
        )  # fmt: skip
    return rows


def requests(f: Fleet, day: Day) -> dict[str, npt.NDArray[np.generic]]:
    """Return the columns of view `requests` with everything that can be told."""
    traffic, rng, n = f.traffic, f.rng, len(f.traffic.t)
    level = f.levels(traffic.t)
    moved = np.nan_to_num(day.transfer)
    engine_first = day.first + moved
    marked = f.late_marks * level * rng.lognormal(0, 0.3, n)
    ttft = engine_first - traffic.t + marked
    end = day.finished + moved
    # A mark that comes late comes before the end all the same.
    ttft = np.where(marked > 0, np.minimum(ttft, end - traffic.t), ttft)
    if f.signals.get("rollout_scoring_seconds") or f.scoring:
        usual = float(np.nanmean(end - traffic.t)) * 0.25
        end = end + usual * rng.lognormal(0, 0.4, n) * (1 + max(f.scoring - 1, 0) * level)
    lost = np.array([f.gone.get(place, np.nan) for place in range(f.size)])[day.route]
    ttft = np.where(day.timed_out | (day.failed & (day.first > lost)), np.nan, ttft)
    end = np.where(day.timed_out, traffic.t + 120.0, np.where(day.failed, lost + 0.5, end))
    kept = (end < f.habits.horizon) & (rng.random(n) > 0.001)
    done = ~(day.timed_out | day.failed)
    output = np.where(done, traffic.output, 0)
    hold = f.habits
    version = words(["2026.10"] * n)
    for place, (since, name) in f.moved.items():
        version[(day.route == place) & (traffic.t >= since)] = name
    e2e = end - traffic.t
    rows: dict[str, npt.NDArray[np.generic]] = {
        "ts": stamp(traffic.t), "first_token_at": stamp(traffic.t + ttft), "finished_at": stamp(end),
        "request_id": words([f"{i:08x}" for i in range(n)]), "model": words([hold.model] * n),
        "model_version": version, "tenant": words(list(hold.tenants))[traffic.tenant],
        "domain": words(["chat", "code", "rag", "agent", "batch"])[traffic.domain],
        "region": words(list(hold.regions))[day.route], "instance": words(list(hold.instances))[day.route],
        "engine": words([hold.engine] * n),
        "adapter": words([None if a < 0 else f"org/lora-{a}" for a in traffic.adapter.tolist()]),
        "input_tokens": traffic.prompt.astype(np.int64), "cached_tokens": traffic.cached.astype(np.int64),
        "output_tokens": output.astype(np.int64),
        "length_bucket": words([next((b for e, b in LENGTHS if k < e), "256k-1m") for k in traffic.prompt.tolist()]),
        "queue_seconds": day.admitted - day.arrival, "prefill_seconds": day.first - day.admitted,
        "transfer_seconds": day.transfer, "decode_seconds": day.finished - day.first,
        "gateway_seconds": day.gateway, "ttft_seconds": ttft,
        "tpot_seconds": np.where(output > 1, (e2e - ttft) / np.maximum(output - 1, 1), np.nan), "e2e_seconds": e2e,
        "engine_ttft_seconds": engine_first - day.arrival, "engine_e2e_seconds": day.finished + moved - day.arrival,
        "status": np.where(day.timed_out, "timeout", np.where(day.failed, "error", "ok")).astype(object),
        "structured": traffic.structured, "turn": traffic.turn, "source": words(["joined"] * n),
        "session": words([f"s{k}" for k in traffic.session.tolist()]),
    }  # fmt: skip
    if f.controls["drafts"] > 0:
        rows["spec_draft_tokens"] = np.nan_to_num(day.drafted).astype(np.int64)
        rows["spec_accepted_tokens"] = np.nan_to_num(day.taken).astype(np.int64)
    return {name: values[kept] for name, values in rows.items()}


def _pages(f: Fleet, day: Day) -> dict[str, npt.NDArray[np.generic]]:
    parts = []
    for place, pages in day.pages.items():
        pages = pages[~np.isnan(pages[:, 0])]
        t = pages[:, 0]
        kept = (t >= f.born.get(place, -1.0) - 30) & (t < f.gone.get(place, np.inf))
        steps = np.diff(pages, axis=0, prepend=np.nan)
        again = f.restarted.get(place)
        if again is not None:
            kept &= ~((t >= again) & (t < again + 45))
        begin, until = day.loading[place]
        waiting = np.searchsorted(begin, t, side="right") - np.searchsorted(np.sort(until), t, side="right")
        n = len(t)
        part: dict[str, npt.NDArray[np.generic]] = {
            "ts": stamp(t + f.habits.skew_seconds),
            "interval_seconds": np.append(np.nan, np.diff(t)) if n else t,
            "instance": words([f.habits.instances[place]] * n), "model": words([f.habits.model] * n),
            "role": words(["both"] * n), "engine": words([f.habits.engine] * n),
            "region": words([f.habits.regions[place]] * n), "scrape_state": words(["ok"] * n),
        }  # fmt: skip
        part |= {name: pages[:, column] for column, name in enumerate(PAGE) if 1 <= column <= 3}
        part |= {name: steps[:, column] for column, name in enumerate(PAGE) if column > 3}
        if f.controls["drafts"] == 0:
            part |= {k: np.full(n, np.nan) for k in ("spec_drafts", "spec_draft_tokens", "spec_accepted_tokens")}
        if f.split:
            mine = (day.route == place) & np.isfinite(day.first)
            at = np.searchsorted(t, day.first[mine] + day.transfer[mine])
            for name, weights in (
                ("kv_transfer_seconds", day.transfer[mine]),
                ("kv_transfer_bytes", f.traffic.prompt[mine] * 131_072.0),
            ):
                part[name] = np.bincount(at, weights=weights, minlength=n + 1)[:n]
        if f.reads_tier:
            part["external_hit_tokens"] = np.asarray(part["prefix_hit_tokens"], dtype=np.float64) * 0.5
        if f.customs.adapters or f.traffic.adapter.max(initial=-1) >= 0:
            part["adapters_waiting"] = np.maximum(waiting, 0).astype(np.float64)
        parts.append({name: values[kept] for name, values in part.items()})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _bins(f: Fleet, day: Day, rows: dict[str, npt.NDArray[np.generic]]) -> dict[str, npt.NDArray[np.generic]]:
    """Count requests into the histogram of their instance's next page, as engines see them: without the gateway."""
    edges = np.array([0.0, *EDGES, np.inf])
    parts = []
    begin = stamp(np.zeros(1))[0]
    ok = np.asarray(rows["status"] == "ok")
    for metric, column, mark in (
        ("ttft_seconds", "engine_ttft_seconds", "first_token_at"), ("tpot_seconds", "tpot_seconds", "finished_at"),
        ("e2e_seconds", "engine_e2e_seconds", "finished_at"), ("queue_seconds", "queue_seconds", "first_token_at"),
    ):  # fmt: skip
        value = np.asarray(rows[column], dtype=np.float64)
        seen = (np.asarray(rows[mark]) - begin) / np.timedelta64(1, "s")
        for place, pages in day.pages.items():
            scrapes = pages[:, 0][~np.isnan(pages[:, 0])]
            mine = ok & np.asarray(rows["instance"] == f.habits.instances[place]) & np.isfinite(value)
            page = np.searchsorted(scrapes, seen[mine])
            bin_ = np.searchsorted(edges[1:], value[mine])
            inside = page < len(scrapes)
            pairs, counts = np.unique(page[inside] * 100 + bin_[inside], return_counts=True)
            n = len(pairs)
            high = edges[pairs % 100 + 1]
            parts.append({
                "ts": stamp(scrapes[pairs // 100] + f.habits.skew_seconds),
                "interval_seconds": np.full(n, f.habits.scrape_seconds),
                "instance": words([f.habits.instances[place]] * n), "model": words([f.habits.model] * n),
                "metric": words([metric] * n), "edge_lo": edges[pairs % 100],
                "edge_hi": np.where(np.isinf(high), np.nan, high), "count": counts.astype(np.int64),
            })  # fmt: skip
    return {name: np.concatenate([np.asarray(part[name]) for part in parts]) for name in parts[0]}


def _lives(f: Fleet) -> dict[str, npt.NDArray[np.generic]]:
    n = f.size
    started = np.array([f.restarted.get(p, f.born.get(p, -3e5) - 60 if p in f.born else -3e5) for p in range(n)])
    return {
        "instance": words(list(f.habits.instances)), "model": words([f.habits.model] * n),
        "host": words(list(f.habits.hosts)), "region": words(list(f.habits.regions)),
        "started_at": stamp(started), "stopped_at": stamp(np.array([f.gone.get(p, np.nan) for p in range(n)])),
        "max_running": np.full(n, int(f.controls["seats"])),
        "kv_capacity_tokens": np.full(n, int(f.controls["memory"])),
    }  # fmt: skip
