"""Examines this machine for `sloscope-agent doctor`: what works, what does not, and the remedy; changes nothing."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from agent.config import Config
from agent.fetch import Credentials, Fetcher
from agent.gpus.examination import examine_gpus
from agent.gpus.nvml import load_driver
from agent.inspect import check_logs, check_targets
from signals.errors import SloscopeError


@dataclass(frozen=True, slots=True)
class Finding:
    """One examined thing; `remedy` says what to do when it is not good."""

    what: str
    good: bool
    note: str
    remedy: str = ""

    def plain(self) -> Mapping[str, object]:
        return {"check": self.what, "state": "ok" if self.good else "fault", "note": self.note, "remedy": self.remedy}


Examiner = Callable[[Config], Iterator[Finding]]


def examine(config: Config) -> list[Finding]:
    """Return every finding, the good ones too."""
    return [finding for examiner in EXAMINERS for finding in examiner(config)]


def spool_place(config: Config) -> Iterator[Finding]:
    """Whether batches can be kept."""
    folder = Path(config.agent.spool).absolute().parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        facts = os.statvfs(folder)
    except OSError as error:
        yield Finding(
            "spool", False, f"{folder}: {error.strerror}", "set agent.spool to a folder that the agent may write"
        )
        return
    free = facts.f_bavail * facts.f_frsize
    enough = free > config.agent.spool_max_bytes
    remedy = "" if enough else "lower agent.spool_max_bytes or free some space"
    yield Finding(
        "spool", enough, f"{folder}: {free / 1e9:.1f} GB free, cap {config.agent.spool_max_bytes / 1e9:g} GB", remedy
    )


def addresses(config: Config) -> Iterator[Finding]:
    """Whether the agent's own addresses are free, and who can reach them."""
    for what, address in (("agent.listen", config.agent.listen), ("spans.listen", config.spans.listen)):
        if address is None:
            continue
        host, port = address
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(address)
            except OSError as error:
                note = f"{host}:{port}: {error.strerror}"
                yield Finding(what, False, note, "another program (or this agent) listens there; choose another port")
                continue
        open_to_all = host in {"", "0.0.0.0", "::"}  # noqa: S104 # compared, not bound
        yield Finding(what, True, f"{host}:{port} is free" + (", reachable from every network" if open_to_all else ""))


def collector(config: Config) -> Iterator[Finding]:
    """Whether the collector answers."""
    url = config.collector.url
    if url is None:
        yield Finding(
            "collector", False, "no collector.url", "set it, or the batches stay on disk until they are dropped"
        )
        return
    try:
        credentials = Credentials.of(config.collector.token_file, config.collector.headers_file)
        answer = Fetcher(config.collector.tls).get(url.rstrip("/") + "/readyz", credentials.headers(), 5.0, 1_000_000)
    except SloscopeError as error:
        yield Finding("collector", False, error.message, "start it, or mend collector.url, tls and token_file")
        return
    good = answer.status == 200
    yield Finding(
        "collector", good, f"{url}: HTTP {answer.status}", "" if good else "ask its /readyz which check fails"
    )


def spans(config: Config) -> Iterator[Finding]:
    """How engines are told to send their spans here."""
    if config.spans.listen is None:
        yield Finding("spans", True, "no span receiver: P99 comes from histograms, as an interval")
        return
    host, port = config.spans.listen
    place = f"http://{host or '127.0.0.1'}:{port}"
    yield Finding(
        "spans",
        True,
        f"engines: OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf, vLLM: --otlp-traces-endpoint {place}/v1/traces",
    )


def gpus(config: Config) -> Iterator[Finding]:
    """What the GPUs let the agent see."""
    if config.gpu.enabled == "no":
        return
    for found in examine_gpus(load_driver(), Path(config.host.root)):
        yield Finding(found.what, found.good, found.note, found.remedy)


def targets(config: Config) -> Iterator[Finding]:
    """Whether every target answers with what is expected of it."""
    for row in check_targets(config, os.environ)[0]:
        good = row["state"] == "ok" and not row["note"]
        missing = f"; missing: {row['missing']}" if row["missing"] else ""
        note = f"{row['engine'] or 'unknown engine'}, {row['signals']} signals{missing}" if good else str(row["note"])
        yield Finding(f"target {row['instance']}", good, note, "" if good else "docs/how-to/troubleshoot-agent.md")


def request_logs(config: Config) -> Iterator[Finding]:
    """Whether every request log is there and its lines tell of requests."""
    for row in check_logs(config)[0]:
        good = row["state"] == "ok"
        remedy = "" if good else "mend requests[].path, engine or model; the agent must be able to read the file"
        yield Finding(f"requests {row['url']}", good, str(row["note"]), remedy)


#: In the order of the report.
EXAMINERS: tuple[Examiner, ...] = (spool_place, addresses, collector, spans, request_logs, gpus, targets)
