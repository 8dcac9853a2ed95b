"""A real llama.cpp server under a known load: what the store says equals what the load generator counted."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.agentlab.rig import Rig, free_port, wait_for
from tests.live.gguf import write_tiny_llama
from tests.support.steps import ask, select, start_collector, until

pytestmark = pytest.mark.live

ROOT = Path(__file__).resolve().parents[2]
#: A virtual environment of its own: the wheel is 34 MB and nothing else needs it.
HOME = ROOT / "build" / "live" / "llamacpp"
REQUESTS, AT_ONCE, SEED = 60, 6, 11


@pytest.fixture(scope="module")
def python() -> str:
    """Return an interpreter with xllamacpp, installing it once."""
    found = HOME / "bin" / "python"
    if not found.exists():
        made = subprocess.run([sys.executable, "-m", "venv", str(HOME)], capture_output=True, check=False)
        if made.returncode:
            pytest.skip("no virtual environment can be made")
    have = subprocess.run([str(found), "-c", "import xllamacpp"], capture_output=True, check=False)
    if have.returncode:
        install = [str(found), "-m", "pip", "install", "--quiet", "xllamacpp"]
        if subprocess.run(install, capture_output=True, check=False).returncode:
            pytest.skip("xllamacpp cannot be installed here")
    return str(found)


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    found = Rig(tmp_path, None)
    yield found
    found.close()


def start_engine(rig: Rig, python: str) -> str:
    model = rig.folder / "tiny.gguf"
    write_tiny_llama(model)
    port = free_port()
    server = str(ROOT / "tests" / "live" / "llama_server.py")
    rig.start([python, server, str(model), str(port)], "llama.log")
    wait_for(f"http://127.0.0.1:{port}/metrics")
    return f"http://127.0.0.1:{port}"


def load(engine: str) -> tuple[int, int, int]:
    """Send requests; return the tokens that the answers counted: input, cached, output."""
    draw = random.Random(SEED)
    prompts = [" ".join(draw.choices(["ab", "cde", "f", "ghij"], k=draw.randint(3, 40))) for _ in range(REQUESTS)]

    def one(prompt: str) -> tuple[int, int, int]:
        body: dict[str, object] = {"prompt": prompt, "max_tokens": 24, "ignore_eos": True}
        usage = ask(f"{engine}/v1/completions", body)["usage"]
        assert isinstance(usage, dict)
        details = usage.get("prompt_tokens_details")
        cached = details["cached_tokens"] if isinstance(details, dict) else 0
        return usage["prompt_tokens"], cached, usage["completion_tokens"]

    with ThreadPoolExecutor(AT_ONCE) as pool:
        counted = list(pool.map(one, prompts))
    return sum(row[0] for row in counted), sum(row[1] for row in counted), sum(row[2] for row in counted)


def test_tokens_in_the_store_are_the_tokens_that_were_answered(rig: Rig, python: str) -> None:
    engine = start_engine(rig, python)
    _, collector = start_collector(rig)
    target = {"url": engine, "instance": "llama-0", "model": "tiny", "pool": "live", "interval": "300ms"}
    config = rig.config([target])
    agent = rig.start_agent(config)
    seen = 'sloscope_agent_scrapes_total{instance="llama-0",state="ok"}'
    until(lambda: rig.own_metrics().get(seen, 0.0) >= 2)
    given, cached, made = load(engine)
    scrapes = rig.own_metrics()[seen]
    until(lambda: rig.own_metrics()[seen] >= scrapes + 3)
    agent.end()
    agent = rig.start_agent(config)  # what the last life left on disk is delivered by the next one
    until(lambda: rig.own_metrics()["sloscope_agent_delivered_batches_total"] >= 3)
    until(lambda: rig.own_metrics()["sloscope_agent_spool_batches"] <= 1)
    query = (
        "select sum(prompt_tokens) as given, sum(generation_tokens) as made, max(running) as running, count(*) as n,"
        " min(engine) as engine from engine_samples where instance = 'llama-0' and scrape_state = 'ok'"
    )
    (row,) = select(collector, query)
    assert (row["engine"], row["given"], row["made"]) == ("llamacpp", given, made)
    assert int(str(row["n"])) >= 5
    assert cached >= 0
