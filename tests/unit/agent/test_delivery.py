"""The delivery outlives its thread: one that died starts again, a stop ends it for good, without a URL none runs."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from agent.config import CollectorConfig
from agent.delivery import Delivery
from agent.selfmetrics import SelfMetrics
from agent.ship import Shipper
from tests.unit.agent.support import FakeClock, new_spool


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[threading.Event]:
    """Every run of a shipper as an event, set once it began; each run ends at once, as if its thread had died."""
    begun: list[threading.Event] = []

    def run(_shipper: Shipper) -> None:
        event = threading.Event()
        begun.append(event)
        event.set()

    monkeypatch.setattr(Shipper, "run", run)
    return begun


def delivery(folder: Path) -> Delivery:
    clock = FakeClock()
    return Delivery(new_spool(folder, clock), SelfMetrics(), clock.wall_ns, clock.monotonic)


def test_a_thread_that_died_is_counted_and_started_again(tmp_path: Path, runs: list[threading.Event]) -> None:
    found = delivery(tmp_path)
    found.start(CollectorConfig(url="http://127.0.0.1:9/"))
    assert found._thread is not None
    found._thread.join()
    found.supervise()
    found._thread.join()
    assert len(runs) == 2
    assert found.metrics.faults.labels("shipping")._value.get() == 1


def test_after_a_stop_nothing_is_started_again(tmp_path: Path, runs: list[threading.Event]) -> None:
    found = delivery(tmp_path)
    found.start(CollectorConfig(url="http://127.0.0.1:9/"))
    found.stop(0.0)
    found.supervise()
    assert len(runs) == 1


def test_without_an_address_nothing_is_shipped_and_nothing_breaks(tmp_path: Path, runs: list[threading.Event]) -> None:
    found = delivery(tmp_path)
    found.start(CollectorConfig(url=None))
    found.supervise()
    found.stop(0.0)
    assert not runs
    assert found.last == ("none yet", 0.0)
