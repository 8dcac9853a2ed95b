"""Steps of tests with real processes: wait for something, start a collector beside a rig, ask it with SQL."""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping

from benchmarks.agentlab.rig import Program, Rig, free_port, wait_for

SERVE = "import sys; from collector.cli.main import main; sys.exit(main(sys.argv[1:]))"


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Wait for something that other processes do."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.1)


def ask(url: str, body: Mapping[str, object]) -> dict[str, object]:
    """Post JSON and return the JSON that comes back."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found = json.loads(answer.read())
    assert isinstance(found, dict)
    return found


def start_collector(rig: Rig, name: str = "live", *flags: str) -> tuple[Program, str]:
    """Start a collector on a store of its own in the rig's folder; the rig's agents deliver to it."""
    port = free_port()
    store = str(rig.folder / f"{name}.duckdb")
    command = [sys.executable, "-c", SERVE, "serve", "--db", store, "--port", str(port), *flags]
    program = rig.start(command, f"{name}.log")
    wait_for(f"http://127.0.0.1:{port}/healthz", 60.0)
    rig.sink_port = port
    return program, f"http://127.0.0.1:{port}"


def select(collector: str, query: str) -> list[dict[str, object]]:
    """Return the rows of a query."""
    rows = ask(f"{collector}/api/v1/sql", {"query": query})["rows"]
    assert isinstance(rows, list)
    return rows


def get_json(url: str) -> dict[str, object]:
    """Return the JSON at a URL."""
    with urllib.request.urlopen(url, timeout=30) as answer:
        found = json.loads(answer.read())
    assert isinstance(found, dict)
    return found
