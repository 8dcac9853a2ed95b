"""Measures the agent: cost, memory, outages, hangs, and prometheus in agent mode on the same pages.

Run `python -m benchmarks.agent`; `--seconds S` sets the length of each measurement, `--only PART` runs one part
(cost, peer, outage, faults, install, parse).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path

from benchmarks.agentlab import cost, faults, install, outage
from benchmarks.agentlab.machine import page_after_pause_us
from benchmarks.agentlab.rig import Rig
from benchmarks.report import Row, write

PEER = "prometheus 2.x agent mode"
PARTS = ("cost", "peer", "outage", "faults", "install", "parse")


def costs(make: Callable[[], Rig], seconds: float, peer: bool) -> list[Row]:
    """Measure CPU and memory with 8 and 64 engines, and the peer's; and the machine's price of idle memory."""
    rows = [Row("page_after_pause_us", page_after_pause_us(), "us a page first touched after 1 s (usual: < 0.3)")]
    ours: dict[int, cost.Cost] = {}
    for engines in (8, 64):
        found = ours[engines] = cost.our_cost(make, engines, seconds)
        rows.append(Row(f"cpu_percent_{engines}_engines", found.cpu_percent, "% of one core"))
        rows.append(Row(f"rss_mb_{engines}_engines", found.rss_mb, "MB"))
    theirs = cost.prometheus_cost(make, 8, seconds) if peer else None
    if theirs is not None:
        ratio = ours[8].cpu_percent / theirs.cpu_percent
        rows.append(Row("cpu_ratio_to_prometheus_agent", ratio, "x", PEER, ratio))
        rows.append(Row("cpu_percent_prometheus_agent", theirs.cpu_percent, "% of one core", PEER))
        memory = ours[8].rss_mb / theirs.rss_mb
        rows.append(Row("rss_ratio_to_prometheus_agent", memory, "x", PEER, memory))
        rows.append(Row("rss_mb_prometheus_agent", theirs.rss_mb, "MB", PEER))
    return rows


def bad_hours(make: Callable[[], Rig], seconds: float) -> list[Row]:
    """Measure what an hour without a collector costs."""
    found = outage.bad_hour(make, seconds)
    print("\n".join(outage.lines(found)))
    return [
        Row("outage_lost_batches", found.missing, "batches"),
        Row("outage_duplicate_batches", 0 if found.token_error < 1e-9 else found.resent, "batches"),
        Row("outage_token_error", found.token_error, ""),
        Row("catch_up_speed", found.catch_up, "x real time"),
        Row("kill9_lost_unflushed_batches", outage.killed(make), "batches"),
    ]


def hangs(make: Callable[[], Rig], seconds: float) -> list[Row]:
    """Measure what hung parts cost the others."""
    found = faults.hang(make, seconds)
    return [
        Row("ticks_kept_ratio_one_gpu_hung", found.gpu, ""),
        Row("ticks_kept_ratio_one_target_hung", found.target, ""),
        Row("sigterm_seconds", found.sigterm_seconds, "s"),
    ]


def installed() -> list[Row]:
    total, parts = install.base_install_mb()
    print("  ".join(f"{name} {size:.2f}" for name, size in sorted(parts.items(), key=lambda part: -part[1])))
    return [Row("base_install_mb", total, "MB")]


def parsing() -> list[Row]:
    from benchmarks.parse import speeds

    return [row for row in speeds() if row.item == "fast_parse_speedup"]


def main() -> None:
    """Run the parts and write build/bench/agent.json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--outage", type=float, default=36.0, help="seconds; 36 are an hour of batches")
    parser.add_argument("--only", choices=PARTS, action="append")
    asked = parser.parse_args()
    parts = asked.only or PARTS
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        stub = cost.stub_folder(folder)
        numbers = count()

        def make() -> Rig:
            place = folder / str(next(numbers))
            place.mkdir()
            return Rig(place, stub)

        if "cost" in parts:
            rows += costs(make, asked.seconds, "peer" in parts)
        if "outage" in parts:
            rows += bad_hours(make, asked.outage)
        if "faults" in parts:
            rows += hangs(make, asked.seconds / 2)
        if "install" in parts:
            rows += installed()
        if "parse" in parts:
            rows += parsing()
    write("agent", rows)


if __name__ == "__main__":
    main()
