"""Installs and starts Dynamo's real frontend with mocker workers on loopback: no GPU, no etcd, no NATS, no model.

ai-dynamo requires a package that downloads from its vendor's own index, so it is installed without its requirements
and they are listed here; the mocker works without that package. Discovery is a folder, requests travel by TCP, events
by ZeroMQ.
"""

from __future__ import annotations

import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks.agentlab.rig import Program, Rig, free_port, wait_for
from tests.live.tiny_tokenizer import write_tokenizer
from tests.support.steps import get_json, until

VERSION = "1.6.1"
BARE = (f"ai-dynamo=={VERSION}", f"ai-dynamo-runtime=={VERSION}")
REQUIRED = (
    "aiohttp<4.0", "certifi", "kubernetes<33,>=32.0.1", "msgspec", "prometheus-client<1.0,>=0.23.1", "pyzmq",
    "redis<9,>=6.2", "tqdm", "transformers", "typing-extensions", "zstandard<1.0", "pydantic<=2.13.5,>=2.10.6",
    "uvloop",
)  # fmt: skip
MODEL = "tiny"
#: The mocker's own pace is that of a fast GPU; ten times slower, its latencies stand out from the machine's noise.
PACE = "0.1"


@dataclass(frozen=True, slots=True)
class Stack:
    """Where the parts answer, and where the frontend writes its request trace."""

    frontend: str
    workers: tuple[str, ...]
    trace: Path


def install(home: Path) -> str | None:
    """Return an interpreter that has Dynamo, installing it once; None where it cannot be."""
    python = str(home / "bin" / "python")
    if _works(python):
        return python
    for command in (
        [sys.executable, "-m", "venv", str(home)],
        [*_pip(python), "--no-deps", *BARE],
        [*_pip(python), *REQUIRED],
    ):
        if subprocess.run(command, capture_output=True, check=False).returncode:
            return None
    return python if _works(python) else None


def start(rig: Rig, python: str, spans: str, workers: int = 2) -> Stack:
    """Start the programs and wait until the frontend serves the model; spans go to an address of OTLP over HTTP."""
    model, discovery = rig.folder / "model", rig.folder / "discovery"
    write_tokenizer(model)
    discovery.mkdir()
    env = {
        "DYN_DISCOVERY_BACKEND": "file",
        "DYN_FILE_KV": str(discovery),
        "DYN_REQUEST_PLANE": "tcp",
        "DYN_EVENT_PLANE": "zmq",
        "HF_HUB_OFFLINE": "1",
        "OTEL_EXPORT_ENABLED": "1",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"http://{spans}/v1/traces",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
        "DYN_LOGGING_JSONL": "1",
    }
    pages = tuple(_worker(rig, python, model, env, number) for number in range(workers))
    port, trace = free_port(), rig.folder / "trace"
    env |= {
        "DYN_REQUEST_TRACE": "1",
        "DYN_REQUEST_TRACE_FILE_PATH": str(trace),
        "DYN_REQUEST_TRACE_FILE_FLUSH_INTERVAL_MS": "200",
    }
    command = ["-m", "dynamo.frontend", "--http-host", "127.0.0.1", "--http-port", str(port), "--router-mode", "kv"]
    rig.start([python, *command], "frontend.log", env)
    frontend = f"http://127.0.0.1:{port}"
    wait_for(f"{frontend}/metrics")
    until(lambda: bool(get_json(f"{frontend}/v1/models")["data"]))
    return Stack(frontend, pages, trace)


def _worker(rig: Rig, python: str, model: Path, env: dict[str, str], number: int) -> str:
    port = low_port()
    command = ["-m", "dynamo.mocker", "--model-path", str(model), "--model-name", MODEL, "--speedup-ratio", PACE]
    more = {"DYN_SYSTEM_PORT": str(port)}
    program: Program = rig.start([python, *command, "--block-size", "16"], f"worker{number}.log", {**env, **more})
    assert program.process.poll() is None
    url = f"http://127.0.0.1:{port}"
    wait_for(f"{url}/metrics")
    return url


def low_port() -> int:
    """Return a free port below 32,768: a worker reads its port as a signed number of 16 bits."""
    for port in range(21_000, 32_767):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise OSError("no low port is free")


def _pip(python: str) -> list[str]:
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():  # ten times faster
        return [str(uv), "pip", "install", "--quiet", "--python", python]
    return [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]


def _works(python: str) -> bool:
    if not Path(python).exists():
        return False
    command = [python, "-c", "import dynamo.frontend, dynamo.mocker"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
