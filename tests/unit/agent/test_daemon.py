"""The daemon as a whole, without a process: targets come and go, settings are replaced, readiness says what is what."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from agent.config import Config, TargetConfig
from agent.configfile import Loaded, load
from agent.daemon import Daemon, World
from agent.encode import seal
from agent.httpserver import Request, Response, Server, serve
from agent.spool import METRICS, TRACES
from collector.receivers.decode import decode_resource, parse_export
from signals.errors import ConfigError
from signals.records import Scrape
from tests.unit.agent.requestlogs.test_watch import line
from tests.unit.agent.test_scrape import vllm_page


@pytest.fixture
def engine() -> Iterator[Server]:
    def answer(request: Request) -> Response:
        return Response(200, vllm_page().encode())

    found = serve(("127.0.0.1", 0), answer, 1000, "engine")
    yield found
    found.stop()


def settings(folder: Path, *targets: str, names: Sequence[str] = ("one",), more: str = "") -> Config:
    names = names[: len(targets)]
    lines = (
        f"  - {{url: '{url}', instance: {name}, interval: 20ms}}\n" for url, name in zip(targets, names, strict=True)
    )
    listed = "".join(lines)
    text = (
        f"agent: {{name: n, listen: null, spool: '{folder}/s.db'}}\n"
        f"spans: {{listen: null}}\ngpu: {{enabled: 'no'}}\nhost: {{enabled: false}}\n{more}targets:\n{listed or '  []'}"
    )
    return load(Config, text, "agent.yaml", {}).config


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10.0
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.005)


def states(daemon: Daemon, instance: str) -> list[str]:
    stored = parse_export(seal(batch.batch for batch in daemon.spool.waiting(METRICS, 10**9)))
    found = [decode_resource(part) for part in stored.resource_metrics]
    return [one.state for one in found if isinstance(one, Scrape) and one.target.instance == instance]


def test_targets_that_a_reload_drops_say_farewell_and_new_ones_begin(tmp_path: Path, engine: Server) -> None:
    base = f"http://127.0.0.1:{engine.port}"
    one, two = f"{base}/metrics", f"http://localhost:{engine.port}/metrics"
    answers: list[Config | ConfigError] = [ConfigError("wrong"), settings(tmp_path, two, names=["two"])]

    def again() -> Loaded[Config]:
        found = answers.pop(0)
        if isinstance(found, ConfigError):
            raise found
        return Loaded(found, {})

    daemon = Daemon(settings(tmp_path, one), World(hostname=lambda: "h"), again)
    daemon.start()
    try:
        first, second = "one", "two"
        until(lambda: "ok" in states(daemon, first))
        assert daemon.reload() is False
        assert list(daemon.roster.loops) == [first]
        assert [check.good for check in daemon.checks() if check.name == "config"] == [False]
        assert daemon.reload() is True
        until(lambda: "ok" in states(daemon, second))
        assert states(daemon, first)[-1] == "gone"
        assert list(daemon.roster.loops) == [second]
    finally:
        daemon.stop()


def test_readiness_names_targets_that_do_not_answer_and_stays_ready(tmp_path: Path) -> None:
    daemon = Daemon(settings(tmp_path, "http://127.0.0.1:9/metrics"), World(hostname=lambda: "h"))
    daemon.start()
    try:
        until(lambda: any(not check.good for check in daemon.checks()))
        checks = {check.name: check for check in daemon.checks()}
        assert (checks["targets"].good, checks["targets"].note) == (False, "one")
        assert all(check.good for check in checks.values() if check.required)
        daemon.refresh()
        assert daemon.metrics.waiting._value.get() >= 1
    finally:
        daemon.stop()


def test_changed_limits_reach_every_target_and_other_outputs_begin(tmp_path: Path, engine: Server) -> None:
    url = f"http://127.0.0.1:{engine.port}/metrics"
    more = "limits: {series: 1}\noutputs: {otlp: [{url: 'http://127.0.0.1:9/v1/metrics', interval: 10ms}]}\n"
    changed = settings(tmp_path, url, more=more)
    daemon = Daemon(settings(tmp_path, url), World(hostname=lambda: "h"), lambda: Loaded(changed, {}))
    daemon.start()
    try:
        name = "one"
        until(lambda: "ok" in states(daemon, name))
        daemon.reload()
        until(lambda: states(daemon, name)[-1] == "failed")
        until(lambda: daemon.metrics.exports.labels("failed")._value.get() > 0)
    finally:
        daemon.stop()


def test_an_agent_that_grew_too_large_starts_anew(tmp_path: Path) -> None:
    asked: list[int] = []
    world = World(hostname=lambda: "h", resident=lambda: 10**12, reexec=lambda: asked.append(1))
    daemon = Daemon(settings(tmp_path), world)
    daemon.start()
    try:
        until(lambda: bool(asked))
        assert daemon.alive()
    finally:
        daemon.stop()


def test_targets_behind_loopback_are_named_after_their_machine(tmp_path: Path) -> None:
    daemon = Daemon(settings(tmp_path), World(hostname=lambda: "node-a"))
    daemon.start()
    try:
        daemon.roster.found("static", [TargetConfig("http://127.0.0.1:8000"), TargetConfig("http://10.0.0.1:8000")])
        assert sorted(daemon.roster.loops) == ["10.0.0.1:8000", "node-a:8000"]
    finally:
        daemon.stop()


def test_request_logs_are_followed_and_a_reload_follows_others(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.log").write_text(line(1, id=name))

    def config(name: str) -> Config:
        return settings(tmp_path, more=f"requests: [{{path: '{tmp_path}/{name}.log', interval: 20ms}}]\n")

    daemon = Daemon(config("a"), World(hostname=lambda: "h"), lambda: Loaded(config("b"), {}))
    daemon.start()
    try:
        until(lambda: len(daemon.spool.waiting(TRACES, 10**9)) == 1)
        assert daemon.reload() is True
        until(lambda: len(daemon.spool.waiting(TRACES, 10**9)) == 2)
        assert [source.config.path for source in daemon.logs] == [f"{tmp_path}/b.log"]
        with (tmp_path / "a.log").open("a") as stream:
            stream.write(line(2))
    finally:
        daemon.stop()
    body = seal(batch.batch for batch in daemon.spool.waiting(TRACES, 10**9))
    assert (b"sglang/a" in body, b"sglang/b" in body, b"sglang/r-2" in body) == (True, True, False)
