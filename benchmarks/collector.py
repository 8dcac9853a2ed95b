"""Measures the collector: ingest, joins, bytes, quantile queries, load, kills, fuzz; peers side by side.

`python -m benchmarks.collector [--only PART,..] [--quick] [--minutes M]`. Peers: Debian's prometheus and
victoria-metrics where they are installed, chdb in build/peers/chdb (made on first use). Wall times depend on what else
runs: the load is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.report import BUILD, Row, write

MILLION = 1_000_000
LOAD_SECONDS = "SLOSCOPE_BENCH_LOAD_SECONDS"


def ingest(folder: Path, quick: bool) -> list[Row]:
    """OTLP gzip bodies to committed rows, and the peers' remote-write beside it, in CPU seconds."""
    from benchmarks.ingest import bodies, peers, pipeline

    steps = 64 if quick else 160
    found = list(bodies.bodies(range(1, steps + 1)))
    runs = [pipeline.ingest(folder / f"ingest-{run}.duckdb", found) for run in range(2 if quick else 3)]
    best = max(run.samples / run.cpu_seconds for run in runs)
    bytes_each = min(run.bytes_per_sample for run in runs)
    print(f"ingest: {runs[0].samples} samples in {runs[0].scrapes} scrapes, {runs[0].wall_seconds:.2f} s wall")
    del found
    writes = list(peers.writes(6 if quick else 10))
    rates = {name: peers.samples_per_cpu_second(name, writes, len(writes) // 5, folder / name) for name in peers.PEERS}
    rows = [
        Row("otlp_samples_per_cpu_second", best, "samples"),
        Row("bytes_per_engine_sample", bytes_each, "B"),
    ]
    for name, rate in rates.items():
        if rate is None:
            print(f"{name} is not installed: no figure beside ours")
            continue
        rows.append(Row(f"otlp_ratio_to_{name.replace('-', '')}", best / rate, "x", name, best / rate))
        rows.append(Row(f"{name.replace('-', '_')}_samples_per_cpu_second", rate, "samples", name, best / rate))
    return rows


def joins(folder: Path, quick: bool) -> list[Row]:
    """Request halves to joined requests, and bytes per request row."""
    from benchmarks.ingest import halves

    found = halves.join(folder / "halves.duckdb", 40_000 if quick else 150_000)
    return [
        Row("requests_joined_per_cpu_second", found.per_cpu_second, "requests"),
        Row("bytes_per_request", found.bytes_per_request, "B"),
    ]


def queries(folder: Path, quick: bool) -> list[Row]:
    """P99 by model, tenant, length and 5 minutes over a day of 5 and 50 million requests."""
    from benchmarks.ingest import grid

    _peer_chdb()
    small = grid.measure(folder / "grid-5m.duckdb", 5 * MILLION, compare=True)
    rows = [Row("p99_query_ms_5m", small.ms, "ms", "chdb", small.peer_ms and small.peer_ms / small.ms)]
    if small.error is not None:
        rows.append(Row("p99_relative_error", small.error, ""))
    if small.peer_ms is not None:
        rows.append(Row("p99_speedup_over_chdb", small.peer_ms / small.ms, "x", "chdb", small.peer_ms / small.ms))
    if not quick:
        large = grid.measure(folder / "grid-50m.duckdb", 50 * MILLION, compare=False)
        rows.append(Row("p99_query_ms_50m", large.ms, "ms"))
    return rows


def load(folder: Path, quick: bool) -> list[Row]:
    """Appends, reads, freshness and memory of a real process: 200 instances and 500 requests a second."""
    seconds = 20.0 if quick else float(os.environ.get(LOAD_SECONDS, "90"))
    found = _child("load", f"{seconds:g}", folder)
    print(f"load: {found}")
    start = "minute 3" if seconds >= 360 else f"{seconds / 2:g} s"
    slope = f"{found['rss_mb_per_minute']:+.2f} MB a minute between"
    end = f"{found['rss_end_mb']:.0f} MB after {seconds / 60:g} min, {slope}"
    print(f"memory: {found['rss_settled_mb']:.0f} MB at {start}, {end}")
    names = {"append_p99_ms": "ms", "read_p99_ms": "ms", "freshness_p99_seconds": "s", "rss_mb": "MB"}
    if seconds >= 360:
        names |= {"rss_settled_mb": "MB", "rss_end_mb": "MB", "rss_mb_per_minute": "MB/min"}
    return [Row(name, float(found[name]), unit) for name, unit in names.items()]


def kills(folder: Path, quick: bool) -> list[Row]:
    """Kill -9 of a real process while senders write over HTTP."""
    rounds = 20 if quick else 100
    found = _child("kills", str(rounds), folder)
    print(f"kills: {found}")
    return [
        Row("kill9_lost", float(found["lost"]), "batches"),
        Row("kill9_duplicates", float(found["duplicates"]), "batches"),
        Row("kill9_corrupt", float(found["corrupt"]), "files"),
        Row("kill9_in_flight", 100.0 * float(found["in_flight"]) / rounds, "of 100"),
        Row("kill9_committed_unacknowledged", float(found["committed_unacked"]), "batches"),
    ]


def fuzz(folder: Path, quick: bool) -> list[Row]:
    """Damaged bodies for every receiver."""
    found = _child("fuzz", "5000" if quick else "100000", folder)
    print(f"fuzz: {found['inputs']} inputs, memory +{found['memory_mb']} MB")
    return [Row("fuzz_crashes", float(found["crashes"]), "")]


PARTS: dict[str, Callable[[Path, bool], list[Row]]] = {
    "ingest": ingest,
    "joins": joins,
    "queries": queries,
    "kills": kills,
    "load": load,
    "fuzz": fuzz,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the parts and write build/bench/collector.json; figures of parts that were left out are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help="comma-separated parts")
    parser.add_argument("--quick", action="store_true", help="smaller inputs")
    parser.add_argument("--minutes", type=float, help="length of the load part; 90 s without it")
    options = parser.parse_args(argv)
    if options.minutes is not None:
        os.environ[LOAD_SECONDS] = f"{60 * options.minutes:g}"
    rows: list[Row] = []
    for name in options.only.split(","):
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory(prefix="sloscope-bench-") as folder:
            rows += PARTS[name](Path(folder), options.quick)
        print(f"-- {name}: {time.perf_counter() - begin:.0f} s, load {os.getloadavg()[0]:.1f}", flush=True)
    write("collector", _with_kept(rows))
    return 0


def _with_kept(rows: list[Row]) -> list[Row]:
    """Return the rows with those of an earlier run behind them, where this run has none of the item."""
    path = BUILD / "collector.json"
    if not path.exists():
        return rows
    items = {row.item for row in rows}
    kept = [Row(**row) for row in json.loads(path.read_text())["rows"] if row["item"] not in items]
    return [*rows, *kept]


def _child(name: str, size: str, folder: Path) -> dict[str, float]:
    """Run one part in a process of its own and return its JSON object."""
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.ingest.{name}", size, str(folder)],
        capture_output=True, text=True, check=False, timeout=1_800,
    )  # fmt: skip
    if done.returncode != 0:
        raise RuntimeError(f"{name} ended with {done.returncode}: {done.stderr[-800:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def _peer_chdb() -> None:
    """Make build/peers/chdb where it is not there and a registry answers; without it there is no figure beside ours."""
    from benchmarks.ingest.grid import PEER_PYTHON

    if PEER_PYTHON.exists():
        return
    home = PEER_PYTHON.parents[1]
    made = subprocess.run([sys.executable, "-m", "venv", str(home)], check=False, capture_output=True)
    if made.returncode == 0:
        subprocess.run([str(PEER_PYTHON), "-m", "pip", "install", "-q", "chdb-core"], check=False, capture_output=True)


if __name__ == "__main__":
    sys.exit(main())
