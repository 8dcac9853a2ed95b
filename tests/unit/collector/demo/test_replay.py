"""The demo shows recorded pages at their moment, sends spans when they were sent, and renames ids on later laps."""

from __future__ import annotations

import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.demo.processes import Processes, agent_config, tool
from collector.demo.recording import ENSEMBLES, bodies_of, pages_of, shifted, unpack
from collector.demo.replay import PAUSE_SECONDS, Stage
from signals.errors import InputError, UnreachableError

ALONE = ENSEMBLES[:1]


class Clock:
    """Unix seconds that a test sets."""

    def __init__(self) -> None:
        self.time = 1_780_000_000.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stage(tmp_path: Path, clock: Clock) -> Iterator[Stage]:
    found = Stage(ALONE, tmp_path, 0.0, clock)
    yield found
    found.stop()


def test_an_unknown_recording_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="reinstall sloscope"):
        unpack("nothing", tmp_path)


def test_the_page_is_that_of_the_moment_under_the_shown_model(stage: Stage, clock: Clock, tmp_path: Path) -> None:
    pages = pages_of(tmp_path / "vllm-live")
    begin = pages[0].time
    for page in (pages[0], pages[40], pages[-1]):
        clock.time = 1_780_000_000.0 + page.time - begin + 0.01
        shown = stage.page("vllm-a")
        assert shown == page.path.read_bytes().replace(b'model_name="tiny-llama"', b'model_name="tiny-llama-direct"')
    clock.time += PAUSE_SECONDS
    assert stage.page("vllm-a") == stage.page("vllm-a")
    assert stage.page("nobody") is None


def test_spans_move_by_one_shift_and_keep_their_durations(tmp_path: Path) -> None:
    folder = unpack("vllm-live-otlp", tmp_path)
    body = bodies_of(folder, 0.0)[0].path.read_bytes()
    before = ExportTraceServiceRequest.FromString(body)
    after = ExportTraceServiceRequest.FromString(shifted(body, 5_000_000_000, 0))
    again = ExportTraceServiceRequest.FromString(shifted(body, 5_000_000_000, 1))

    def spans(message: ExportTraceServiceRequest) -> list[object]:
        return [span for group in message.resource_spans for scope in group.scope_spans for span in scope.spans]

    for one, two, three in zip(spans(before), spans(after), spans(again), strict=True):
        assert two.start_time_unix_nano - one.start_time_unix_nano == 5_000_000_000  # type: ignore[attr-defined]
        assert two.end_time_unix_nano - one.end_time_unix_nano == 5_000_000_000  # type: ignore[attr-defined]
        assert two.span_id == one.span_id  # type: ignore[attr-defined]
        assert three.span_id != one.span_id and len(three.span_id) == 8  # type: ignore[attr-defined]
        ids = [
            {item.key: item.value.string_value for item in span.attributes}.get("gen_ai.request.id")  # type: ignore[attr-defined]
            for span in (one, two, three)
        ]
        assert ids[0] == ids[1] and (ids[0] is None or ids[0] != ids[2])


def test_the_stage_serves_pages_and_sends_what_is_due(tmp_path: Path, clock: Clock) -> None:
    came, enough = [], threading.Event()

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            came.append((self.path, self.rfile.read(int(self.headers["content-length"]))))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()
            if len(came) == 3:
                enough.set()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's own name
            """Say nothing."""

    receiver = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    stage = Stage(ALONE, tmp_path, 0.0, clock)
    stage.start()
    stage.send_spans(f"http://127.0.0.1:{receiver.server_address[1]}")
    try:
        clock.time += bodies_of(tmp_path / "vllm-live-otlp", pages_of(tmp_path / "vllm-live")[0].time)[4].offset + 0.01
        assert enough.wait(20.0)
        assert {path for path, _ in came} == {"/vllm-a/v1/traces"}
        assert ExportTraceServiceRequest.FromString(came[0][1]).resource_spans
        with urllib.request.urlopen(f"{stage.url}/vllm-a/metrics", timeout=10.0) as answer:
            assert b"tiny-llama-direct" in answer.read()
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(f"{stage.url}/nobody/metrics", timeout=10.0)
    finally:
        stage.stop()
        receiver.shutdown()
        receiver.server_close()


def test_a_process_that_ends_by_itself_shows_the_end_of_its_log(tmp_path: Path) -> None:
    processes = Processes(tmp_path)
    processes.start("broken", [tool("sloscope"), "serve", "--port", "many"])
    try:
        with pytest.raises(UnreachableError, match="broken ended with code 2") as caught:
            processes.wait_for("it", lambda: False)
        assert "expected a whole number" in str(caught.value)
    finally:
        processes.stop()


def test_the_agents_configuration_has_a_target_for_each_program(tmp_path: Path) -> None:
    members = [member for ensemble in ENSEMBLES for member in ensemble.members]
    content = yaml.safe_load(agent_config(tmp_path, "http://c:1", "http://p:2", members, (3, 4), 2.0).read_text())
    assert [target["instance"] for target in content["targets"]] == ["vllm-a", "vllm-b", "litellm"]
    assert content["targets"][0]["url"] == "http://p:2/vllm-a/metrics"
    assert (content["agent"]["listen"], content["spans"]["listen"]) == ("127.0.0.1:3", "127.0.0.1:4")
