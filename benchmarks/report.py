"""Prints a benchmark's table and writes build/bench/NAME.json; never judges by itself whether a figure is good."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

BUILD = Path(__file__).resolve().parent.parent / "build" / "bench"


@dataclass(frozen=True, slots=True)
class Row:
    """One measured figure; `peer` names what it was measured beside, `ratio` is ours over the peer's."""

    item: str
    value: float
    unit: str
    peer: str | None = None
    ratio: float | None = None


def write(name: str, rows: Iterable[Row]) -> Path:
    """Print the rows and write build/bench/`name`.json."""
    found = list(rows)
    width = max((len(row.item) for row in found), default=4)
    for row in found:
        beside = f"  {row.ratio:.3g} x {row.peer}" if row.peer and row.ratio is not None else ""
        print(f"{row.item:<{width}}  {row.value:>14.6g} {row.unit}{beside}")
    machine = {
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "load": os.getloadavg()[0],
    }
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / f"{name}.json"
    path.write_text(json.dumps({"machine": machine, "rows": [asdict(row) for row in found]}, indent=1) + "\n")
    return path
