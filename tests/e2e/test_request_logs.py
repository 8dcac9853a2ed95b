"""A real agent follows growing request logs into a real collector: the rows are those of an import of the files."""

from __future__ import annotations

import gzip
import json
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest
import yaml

from benchmarks.agentlab.rig import Rig
from collector.importer.run import Options, import_sources
from collector.importer.sources import LOG, Source
from collector.store.store import Store
from tests.support.steps import select, start_collector, until

pytestmark = pytest.mark.e2e

REQUESTS, CUTS, ROTATED, SEED = 1_200, 12, 5, 5
START = 1_780_000_000.0
#: A log of every second request is SGLang's, the rest are Dynamo's.
SGLANG, DYNAMO = "sglang-request-metrics-20260528_20.log", "trace.000000.jsonl.gz"


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    found = Rig(tmp_path, None)
    yield found
    found.close()


def sglang_line(number: int, draw: random.Random) -> str:
    record = {
        "request_parameters": json.dumps({"text": "secret " * draw.randint(1, 200), "sampling_params": {}}),
        "id": f"sg-{number}",
        "e2e_latency": draw.uniform(0.5, 20.0),
        "first_token_latency": draw.uniform(0.01, 0.5),
        "queue_time": draw.uniform(0.0, 0.01),
        "prompt_tokens": draw.randint(1, 50_000),
        "completion_tokens": draw.randint(1, 900),
        "cached_tokens": 0,
        "finish_reason": {"type": draw.choice(["stop", "length", "abort"])},
        "request_received_ts": START + number / 10,
    }
    return json.dumps(record) + "\n"


def dynamo_line(number: int, draw: random.Random) -> str:
    total = draw.uniform(500.0, 20_000.0)
    request = {
        "request_id": f"dy-{number}",
        "input_tokens": draw.randint(1, 50_000),
        "output_tokens": draw.randint(1, 900),
        "request_received_ms": int((START + number / 10) * 1000),
        "ttft_ms": draw.uniform(5.0, 400.0),
        "total_time_ms": total,
        "worker": {"decode_worker_id": draw.getrandbits(64)},
        "replay": {"input_sequence_hashes": [draw.getrandbits(64) for _ in range(draw.randint(1, 100))]},
    }
    record = {"schema": "dynamo.request.trace.v1", "event_type": "request_end", "request": request}
    return json.dumps({"timestamp": number, "event": record}) + "\n"


def requests(database: Path) -> list[tuple[object, ...]]:
    with duckdb.connect(str(database), read_only=True) as connection:
        return connection.execute("select * from requests order by request_id").fetchall()


def write_config(rig: Rig, logs: Path) -> Path:
    config = rig.config([], host={"enabled": False}, gpu={"enabled": "no"})
    data = yaml.safe_load(config.read_text())
    data["requests"] = [
        {"path": str(logs / "sglang-*"), "engine": "sglang", "instance": "i-0", "model": "m", "interval": "100ms"},
        {"path": str(logs / "trace.*"), "instance": "i-0", "model": "m", "interval": "100ms"},
    ]
    config.write_text(yaml.safe_dump(data))
    return config


def grow(logs: Path, part: int, lines: list[str], traces: list[str]) -> None:
    """Add a part of each log: all but a part of the plain one's last line, a member to the gzipped one."""
    step = len(lines) // CUTS
    text = "".join(lines[part * step : (part + 1) * step])
    with (logs / SGLANG).open("a") as stream:
        stream.write(text[:-100])
    if part == ROTATED:
        (logs / SGLANG).rename(logs / (SGLANG + ".1"))
        with (logs / (SGLANG + ".1")).open("a") as stream:  # the writer has not changed over yet
            stream.write(text[-100:])
    else:
        with (logs / SGLANG).open("a") as stream:
            stream.write(text[-100:])
    with (logs / DYNAMO).open("ab") as packed:
        packed.write(gzip.compress("".join(traces[part * step : (part + 1) * step]).encode()))


def read(rig: Rig) -> float:
    """Return the requests that this life of the agent read."""
    return sum(
        value
        for series, value in rig.own_metrics().items()
        if series.startswith("sloscope_agent_request_log_lines_total") and 'outcome="request"' in series
    )


def test_followed_logs_become_the_rows_that_an_import_of_them_makes_though_the_agent_is_killed(rig: Rig) -> None:
    draw = random.Random(SEED)
    lines = [sglang_line(number, draw) for number in range(0, REQUESTS, 2)]
    traces = [dynamo_line(number, draw) for number in range(1, REQUESTS, 2)]
    logs = rig.folder / "logs"
    logs.mkdir()
    collector, url = start_collector(rig)
    config = write_config(rig, logs)
    agent = rig.start_agent(config)
    for part in range(CUTS):
        grow(logs, part, lines, traces)
        if part % 3 == 1:  # some lines are read, few are delivered
            until(lambda: read(rig) > 0)
            agent.end(signal.SIGKILL)
            agent = rig.start_agent(config)

    count = "select count(*) as n, count(distinct request_id) as ids from requests"
    until(lambda: select(url, count)[0]["n"] == REQUESTS, 120.0)
    assert select(url, count) == [{"n": REQUESTS, "ids": REQUESTS}]
    agent.end(signal.SIGTERM)

    (rig.folder / "spool" / "s.db").unlink()  # and with it the places; all is read again, and known
    agent = rig.start_agent(config)
    until(lambda: read(rig) == REQUESTS and rig.own_metrics()["sloscope_agent_spool_batches"] == 0)
    assert select(url, count) == [{"n": REQUESTS, "ids": REQUESTS}]
    agent.end(signal.SIGTERM)
    collector.end(signal.SIGTERM)
    assert "secret" not in (rig.folder / "agent.log").read_text()
    assert b"secret" not in (rig.folder / "spool" / "s.db").read_bytes()

    imported = rig.folder / "imported.duckdb"
    with Store.open(imported) as store:
        sources = [Source(LOG, path) for path in sorted(logs.iterdir())]
        outcome = import_sources(store, sources, Options(instance="i-0", model="m"), lambda _text: None)
        assert outcome.requests == REQUESTS
    assert requests(rig.folder / "live.duckdb") == requests(imported)
