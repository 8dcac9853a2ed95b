"""Alerts reach real receivers over HTTP: said once, the heartbeat always, a receiver that is away named."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from collector.jobs.alerting import AlertSender
from signals.errors import UnreachableError
from tests.support.recordings import copy_of, session_store
from tests.unit.collector.jobs.support import Clock, parts_of


@dataclass(slots=True)
class Receiver:
    """What was posted, by path; `status` is what it answers."""

    url: str = ""
    status: int = 200
    posts: list[tuple[str, object]] = field(default_factory=list)

    def at(self, path: str) -> list[object]:
        return [body for place, body in self.posts if place == path]


@contextmanager
def _receiver() -> Iterator[Receiver]:
    found = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.posts.append((self.path, json.loads(body)))
            self.send_response(found.status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base class's own name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    found.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with _receiver() as found:
        yield found


@pytest.fixture
def sender(receiver: Receiver, tmp_path: Path) -> Iterator[tuple[AlertSender, Clock]]:
    """A sender over the recorded burst, in its last minute."""
    hooks = tmp_path / "webhooks"
    hooks.write_text(f"# who is on call\n{receiver.url}/hook/s3cret\n")
    clock = Clock(datetime(2026, 1, 1, tzinfo=UTC))
    settings = {"alertmanager_url": receiver.url + "/", "webhooks": str(hooks), "dashboard_url": "http://dash"}
    with parts_of(copy_of(session_store(), tmp_path), clock, **settings) as parts:
        newest = parts.store.reader().newest()
        assert newest is not None
        clock.now = newest + timedelta(seconds=5)
        yield AlertSender(parts), clock


def test_the_burst_pages_once_with_its_cause_and_the_heartbeat_goes_on(
    sender: tuple[AlertSender, Clock], receiver: Receiver
) -> None:
    alerts, clock = sender
    alerts.run()
    (payload,) = receiver.at("/api/v2/alerts")
    assert isinstance(payload, list)
    names = [item["labels"]["alertname"] for item in payload]
    assert any("atchdog" in name for name in names) and len(names) > 1
    (hook,) = receiver.at("/hook/s3cret")
    assert "tiny-llama" in json.dumps(hook) and "http://dash" in json.dumps(hook)
    clock.forward(seconds=15)
    alerts.run()
    assert len(receiver.at("/api/v2/alerts")) == 2, "Alertmanager forgets what is not repeated"
    assert len(receiver.at("/hook/s3cret")) == 1, "a person was told already"
    assert "sloscope" in alerts.parts.published["objectives"]


def test_a_burst_that_is_over_is_taken_back(sender: tuple[AlertSender, Clock], receiver: Receiver) -> None:
    alerts, clock = sender
    alerts.run()
    fired = len(receiver.at("/hook/s3cret"))
    clock.forward(days=40)
    alerts.run()
    told = receiver.at("/hook/s3cret")[fired:]
    assert told and any("resolved" in json.dumps(body) for body in told)


def test_a_receiver_that_is_away_is_named_without_its_secret_and_the_other_one_is_told(
    sender: tuple[AlertSender, Clock], receiver: Receiver
) -> None:
    alerts, _ = sender
    receiver.status = 503
    with pytest.raises(UnreachableError) as caught:
        alerts.run()
    assert str(caught.value).count("127.0.0.1 did not take alerts: it answered 503") == 2
    assert "s3cret" not in str(caught.value)
    assert receiver.at("/api/v2/alerts") and receiver.at("/hook/s3cret")


def test_a_webhook_that_was_away_is_told_when_it_is_back(sender: tuple[AlertSender, Clock], receiver: Receiver) -> None:
    alerts, clock = sender
    receiver.status = 503
    with pytest.raises(UnreachableError):
        alerts.run()
    receiver.status = 200
    receiver.posts.clear()
    clock.forward(seconds=15)
    alerts.run()
    assert receiver.at("/hook/s3cret"), "nobody was told yet"
